// Names come from outside and may be as long as DNS allows; a row stays a row.

import { openLive } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("a host name of 200 characters keeps its domain and port, and is there in full for who asks", async ({
  context,
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const labels = `${"packages-".repeat(7).slice(0, 60)}.${"mirror-".repeat(9).slice(0, 60)}.${"europe-".repeat(9).slice(0, 58)}.registry.example`;
  expect(labels.length).toBe(197);
  const id = `http:${labels}:8443`;
  const server = await serve(
    `${SLOW_POLICY}${upstreamEntry("npm", host, "slow")}
[[upstream]]
name = "long"
url = "http://${labels}:8443"
policy = "slow"
[[upstream]]
name = "buecher"
url = "http://xn--bcher-kva.example"
policy = "slow"
`,
  );
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await openLive(page, server.board);
    const row = page.locator(`[data-id="${id}"]`);
    await expect(row.locator(".tail")).toHaveText(".registry.example:8443");
    const tail = await row.locator(".tail").evaluate((tail) => tail.scrollWidth <= tail.clientWidth + 1);
    expect(tail, `domain and port are in sight at ${width} px`).toBe(true);
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(sideways, `${width} px`).toBeLessThanOrEqual(0);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  const heights = await page.locator(".row").evaluateAll((rows) => rows.map((row) => row.clientHeight));
  expect(new Set(heights).size, `rows are equally high: ${heights.join()}`).toBe(1);

  const row = page.locator(`[data-id="${id}"]`);
  await row.getByRole("button", { name: /^More about/ }).click();
  await expect(row.locator("code")).toHaveText(id);
  await row.getByRole("button", { name: "copy" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(id);
  await expect(page.locator('[data-id="http:xn--bcher-kva.example"]')).toContainText("bücher.example");
});
