// Everybody can read and use the board: both themes, a wide screen and a phone.

import { expectAccessible } from "../fixtures/a11y.ts";
import { openLive } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("panel and breaker pages are axe clean in both themes, wide and at 360 px", async ({ page, serve, upstream }) => {
  const [healthy, down, held, uncalled] = [await upstream(), await upstream(), await upstream(), await upstream()];
  const server = await serve(
    SLOW_POLICY +
      upstreamEntry("npm", healthy, "slow") +
      upstreamEntry("pip", down, "slow") +
      upstreamEntry("cargo", held, "slow") +
      upstreamEntry("deb", uncalled, "slow"),
  );
  expect(await server.call("npm")).toBe(200);
  down.fail(503);
  for (const expected of [503, 503, 503]) expect(await server.call("pip")).toBe(expected);
  const forced = { mode: "forced_open", reason: "CDN move", until: null, by: "ana" };
  const held_id = encodeURIComponent(held.breaker);
  expect((await server.send("PUT", `breakers/${held_id}/override`, forced)).status).toBe(200);

  const pages = {
    panel: server.board,
    "closed breaker": server.breakerPage(healthy.breaker),
    "open breaker": server.breakerPage(down.breaker),
    "held breaker": server.breakerPage(held.breaker),
  };
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      for (const [name, url] of Object.entries(pages)) {
        await openLive(page, url);
        await expectAccessible(page, `${name}, ${colorScheme}, ${width} px`);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(overflow, `${name} scrolls sideways at ${width} px`).toBeLessThanOrEqual(0);
      }
    }
  }
});
