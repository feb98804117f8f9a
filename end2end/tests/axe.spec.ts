// Everybody can read and use the board: both themes, a wide screen and a phone.

import { expectAccessible } from "../fixtures/a11y.ts";
import { openLive } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

for (const width of [1280, 360]) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`panel and breaker pages are axe clean, ${colorScheme}, ${width} px`, async ({ page, serve, upstream }) => {
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
      for (let call = 1; call <= 3; call++) expect(await server.call("pip")).toBe(503);
      const forced = { mode: "forced_open", reason: "CDN move", until: null, by: "ana" };
      const id = encodeURIComponent(held.breaker);
      expect((await server.send("PUT", `breakers/${id}/override`, forced)).status).toBe(200);

      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const pages = {
        panel: server.board,
        "a closed breaker": server.breakerPage(healthy.breaker),
        "an open breaker": server.breakerPage(down.breaker),
        "a held breaker and its form": `${server.breakerPage(held.breaker)}?act=force-closed`,
      };
      const read = {
        incidents: `${server.board}/incidents`,
        audit: `${server.board}/audit`,
        settings: `${server.board}/settings`,
      };
      for (const [name, url] of Object.entries({ ...pages, ...read })) {
        // What is only read follows no feed.
        await (name in read ? page.goto(url) : openLive(page, url));
        await expectAccessible(page, name);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(overflow, `${name} scrolls sideways`).toBeLessThanOrEqual(0);
      }
    });
  }
}
