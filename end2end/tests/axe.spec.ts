// Everybody can read and use the board: every page, open form and report, in both themes, on a wide screen and a phone.

import { writeFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expectAccessible } from "../fixtures/a11y.ts";
import { openLive } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

async function looksWell(page: Page, name: string): Promise<void> {
  await expectAccessible(page, name);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow, `${name} scrolls sideways`).toBeLessThanOrEqual(0);
}

for (const width of [1280, 360]) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`every page is axe clean, ${colorScheme}, ${width} px`, async ({ page, serve, upstream }) => {
      test.setTimeout(180_000);
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
      const incident = async () => (await server.get<{ rows: { id: number }[] }>("incidents")).rows[0]?.id;
      await expect.poll(incident, "an incident is kept").toBeGreaterThan(0);

      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const ids = [healthy, held].map((host) => `&id=${encodeURIComponent(host.breaker)}`).join("");
      const followed = {
        panel: "/",
        "a form for two over the panel": `/?act=force-open${ids}`,
        "a search that finds nothing": "/?q=zzz&state=open",
        "a stretch of time": "/?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z",
        wall: "/?wall",
        "a closed breaker": `/breakers/${healthy.breaker}`,
        "an open breaker": `/breakers/${down.breaker}`,
        "a held breaker and its form": `/breakers/${held.breaker}?act=force-closed`,
        "a form to reset what is held": `/breakers/${held.breaker}?act=reset`,
      };
      for (const [name, path] of Object.entries(followed)) {
        await page.goto(server.board + path);
        await expect(page.locator("body.is-running")).toHaveCount(1);
        await expect(page.locator(name === "wall" ? ".wall-foot" : ".fresh")).toContainText("live");
        if (name === "a form for two over the panel") await expect(page.locator(".touches")).toContainText("Touches 2");
        await looksWell(page, name);
      }
      // What is only read follows no feed.
      const read = {
        incidents: "/incidents",
        "an incident": `/incidents/${await incident()}`,
        audit: "/audit",
        settings: "/settings",
        "settings and the form to reload": "/settings?act=reload",
        "a breaker that is none": "/breakers/nobody",
        "a page that is none": "/nowhere",
      };
      for (const [name, path] of Object.entries(read)) {
        await page.goto(server.board + path);
        await looksWell(page, name);
      }

      await openLive(page, server.board);
      await page.locator("details.rest > summary").click();
      for (const host of [down, healthy]) {
        const row = page.locator(`[data-id="${host.breaker}"]`);
        await row.getByRole("button", { name: /^More about/ }).click();
        await expect(row.locator(".figures")).toBeVisible();
      }
      await page.getByRole("checkbox", { name: `Select ${down.breaker}` }).check();
      await expect(page.getByRole("form", { name: "Selected breakers" })).toBeVisible();
      await looksWell(page, "expanded and selected rows");
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
      await looksWell(page, "the list of keys");
    });

    test(`first run and report are axe clean, ${colorScheme}, ${width} px`, async ({ page, serve, upstream }) => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const empty = await serve("");
      await openLive(page, empty.board);
      await looksWell(page, "first run");

      const host = await upstream();
      const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
      host.fail(503);
      for (let call = 1; call <= 3; call++) await server.call("npm");
      const report = async () => (await fetch(`${server.board}/api/v1/export?what=incidents&format=html`)).text();
      await expect.poll(report, "the incident is in the report").toContain(host.breaker);
      const file = test.info().outputPath("report.html");
      await writeFile(file, await report());
      await page.goto(`file://${file}`);
      await looksWell(page, "the HTML report");
    });
  }
}
