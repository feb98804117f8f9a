// A screen on a wall: whoever passes by sees from across the room how bad it is, and nobody has to touch it.

import { manyUpstreams, nameOf } from "../fixtures/many.ts";
import { expect, test } from "../fixtures/server.ts";

test("the worst 24 of many stand on one screen, large enough to be read from five metres", async ({
  page,
  serve,
  upstream,
}) => {
  const [down, fine] = [await upstream(), await upstream()];
  const server = await serve(manyUpstreams(40, down, fine, 31));
  down.fail(503);
  for (let nth = 0; nth < 30; nth++) for (let call = 0; call < 2; call++) await server.call(nameOf(nth));
  await page.setViewportSize({ width: 1920, height: 1080 });
  await page.goto(`${server.board}/?wall`);
  const wall = page.getByRole("region", { name: "What is not closed" });
  await expect(wall.locator(".tile.is-open")).toHaveCount(24);
  await expect(wall.locator(".tile.is-more")).toHaveText("+6");
  await expect(wall.locator(".tile.is-count")).toHaveText("10 waiting for the first call");
  await expect(wall.locator(".wall-foot")).toContainText(/\d\d:\d\d/);
  await expect(wall.locator(".wall-foot")).toContainText("live");
  await expect(wall.locator(".wall-foot")).toContainText("node ");
  const beyond = () => page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight);
  expect(await beyond(), "nobody scrolls a wall").toBeLessThanOrEqual(0);
  const sizes = await wall.evaluate((wall) =>
    [...wall.querySelectorAll<HTMLElement>(".tile *, .wall-foot *")]
      .filter((one) => one.childElementCount === 0 && one.textContent?.trim() && one.tagName !== "use")
      .map((one) => Number.parseFloat(getComputedStyle(one).fontSize)),
  );
  expect(Math.min(...sizes), "read from five metres").toBeGreaterThanOrEqual(20);

  const cut = await wall.locator(".tile-next").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
  expect(cut, "tiles whose next step cannot be read").toBe(0);

  // One more goes down: it is there by itself.
  for (let call = 0; call < 2; call++) await server.call(nameOf(30));
  await expect(wall.locator(".tile.is-more")).toHaveText("+7");
  await expect(wall.locator(".tile.is-count")).toHaveText("9 waiting for the first call");

  // Held in a hand its tiles stand one under the other.
  for (const width of [360, 800]) {
    await page.setViewportSize({ width, height: 780 });
    await page.goto(`${server.board}/?wall`);
    await expect(wall.locator(".tile.is-open")).toHaveCount(24);
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(sideways, `${width} px`).toBeLessThanOrEqual(0);
    const spilt = await wall.locator(".tile").evaluateAll((tiles) => tiles.filter((tile) => tile.scrollWidth > tile.clientWidth).length);
    expect(spilt, `tiles whose words run over their edge at ${width} px`).toBe(0);
  }
});
