// A host that asks to be left alone is not one that is down: its cool-down is a thing of its own on the board, and what it
// asked for stands beside what it got.

import { openLive, row, story } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("a cool-down has its own sign, words, filter and end, and the wish is told as it was sent and as it was granted", async ({
  page,
  serve,
  upstream,
}) => {
  const [busy, down] = [await upstream(), await upstream()];
  const server = await serve(
    SLOW_POLICY +
      upstreamEntry("busy", busy, "slow") +
      "classify = { cooldown = true }\n" +
      upstreamEntry("down", down, "slow"),
  );
  busy.fail(429, { "retry-after": "120" });
  down.fail(503, { "retry-after": "3600" });
  expect(await server.call("busy")).toBe(429);
  for (let call = 0; call < 2; call++) expect(await server.call("down")).toBe(503);
  expect(await server.call("busy"), "refused by us").toBe(429);
  expect(busy.calls.length, "and not sent on").toBe(1);

  await openLive(page, server.board);
  await expect(page.getByRole("heading", { level: 1 }), "it is not down").toContainText("1 host refused");
  const cooling = row(page, busy.breaker);
  await expect(cooling).toContainText("cooling down");
  await expect(cooling).toContainText("the host asked for 2 min");
  await expect(cooling).toContainText(/over in\s*1:\d\d/);
  await expect(row(page, down.breaker)).toContainText("refusing");
  // It is drawn as it is heard of, and as it is loaded; what is down is drawn otherwise.
  await expect(cooling.locator(".lane .k-cooling")).toHaveCount(1);
  await expect(cooling.getByRole("img")).toHaveAccessibleName(/cooling down /);
  await expect(row(page, down.breaker).locator(".lane .k-cooling")).toHaveCount(0);
  await page.getByRole("navigation", { name: "Filter by state" }).getByRole("link", { name: /^cooling down/ }).click();
  await expect(row(page, down.breaker)).toBeHidden();
  await expect(cooling).toBeVisible();

  await openLive(page, server.breakerPage(busy.breaker));
  await expect(page.locator(".tall .k-cooling")).toHaveCount(1);
  await page.getByText("What the lanes show").click();
  await expect(page.locator(".signs")).toContainText("cooling down, answered 429 as the host asked");
  await expect(story(page)).toContainText("The host asked for quiet; calls are answered 429 until that is over.");
  await expect(story(page)).toContainText(
    "The host asked for quiet, 2 min of it. The host said Retry-After: 120, and got 2 min.",
  );
  await openLive(page, server.breakerPage(down.breaker));
  await expect(story(page)).toContainText("The host said Retry-After: 3600, and got 10 min.");
});

test("a cool-down is on the lane as soon as the board hears of it, and no longer than it lasts", async ({ page, serve, upstream }) => {
  const busy = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("busy", busy, "slow") + "classify = { cooldown = true }\n");
  expect(await server.call("busy")).toBe(200);
  await openLive(page, server.breakerPage(busy.breaker));
  const drawn = page.locator(".tall .k-cooling");
  await expect(drawn).toHaveCount(0);
  busy.fail(429, { "retry-after": "600" });
  expect(await server.call("busy")).toBe(429);
  await expect(drawn).toHaveCount(1);
  const reset = { reason: "they have room again", by: "ana" };
  expect((await server.send("POST", `breakers/${encodeURIComponent(busy.breaker)}/reset`, reset)).status).toBe(200);
  await expect(story(page)).toContainText("closed · flowing");
  const share = () => drawn.evaluate((band) => (Number.parseFloat(band.getAttribute("x") ?? "") + Number.parseFloat(band.getAttribute("width") ?? "")));
  const ended = await share();
  // Minutes of it would have been left: its band stays where it was ended, and moves with the axis.
  await expect.poll(share).toBeLessThan(Math.min(ended, 100));
});
