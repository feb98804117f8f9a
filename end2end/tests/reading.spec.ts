// The pages that stay as they were read: times on the viewer's own clock where there is script, in UTC and named so where
// there is none; filters in the address.

import type { Page } from "@playwright/test";
import { expect, SLOW_POLICY, test, upstreamEntry, type Server } from "../fixtures/server.ts";
import type { Upstream } from "../fixtures/upstream.ts";

interface Lived {
  server: Server;
  down: Upstream;
  incident: number;
}

/** One host that is down, one that was held and released. */
async function lived(
  serve: (config: string) => Promise<Server>,
  upstream: () => Promise<Upstream>,
): Promise<Lived> {
  const [down, held] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", down, "slow") + upstreamEntry("pip", held, "slow"));
  down.fail(503);
  for (let call = 0; call < 3; call++) await server.call("npm");
  const path = `breakers/${held.breaker}`;
  const hold = { mode: "forced_open", reason: "CDN move", for_ms: 3_600_000, by: "ana" };
  expect((await server.send("PUT", `${path}/override`, hold)).status).toBe(200);
  expect((await server.send("POST", `${path}/release`, { reason: "moved", by: "ben" })).status).toBe(200);
  const { rows } = await server.get<{ rows: { id: number; breaker: string }[] }>("incidents");
  return { server, down, incident: rows.find((row) => row.breaker === down.breaker)!.id };
}

/** A time of the page and how a clock in this zone shows it. */
async function times(page: Page, timeZone: string): Promise<{ said: string; want: string }[]> {
  return page.locator("main time").evaluateAll((all, timeZone) => {
    return all.map((time) => {
      const at = new Date(time.getAttribute("datetime") ?? "");
      const want = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" }).format(at);
      return { said: time.textContent ?? "", want };
    });
  }, timeZone);
}

for (const zone of ["Asia/Kolkata", "America/Chicago"]) {
  test.describe(zone, () => {
    test.use({ timezoneId: zone });

    test(`times are ${zone}'s, and UTC at a switch`, async ({ page, serve, upstream }) => {
      const { server, incident } = await lived(serve, upstream);
      for (const path of ["/incidents", `/incidents/${incident}`, "/audit", "/settings"]) {
        await page.goto(server.board + path);
        await expect(page.locator(".read-at")).toHaveText(/^As of \d\d:\d\d:\d\d\. Reload the page$/);
        const utc = page.getByRole("button", { name: "UTC" });
        await expect(utc).toHaveAttribute("aria-pressed", "false");
        const own = await times(page, zone);
        expect(own.length, path).toBeGreaterThan(0);
        for (const { said, want } of own) {
          expect(said, path).toContain(want);
          expect(said, path).not.toContain("UTC");
        }
        await utc.click();
        for (const { said, want } of await times(page, "UTC")) {
          expect(said, path).toContain(want);
          expect(said, path).toContain(" UTC");
        }
        // The choice is kept, and taken back for the next page.
        await page.reload();
        await expect(utc).toHaveAttribute("aria-pressed", "true");
        for (const { said } of await times(page, "UTC")) expect(said, path).toContain(" UTC");
        await utc.click();
      }
    });
  });
}

test.describe("on an axis", () => {
  test.use({ timezoneId: "Asia/Kolkata" });

  test("the crosshair says the viewer's time and UTC, and so does each label", async ({ page, serve, upstream }) => {
    const { server, down, incident } = await lived(serve, upstream);
    for (const path of ["/", `/breakers/${encodeURIComponent(down.breaker)}`]) {
      await page.goto(server.board + path);
      await expect(page.locator("body.is-running")).toHaveCount(1);
      const lane = await page.locator(".c-lane .lane").first().boundingBox();
      await page.mouse.move(lane!.x + lane!.width / 2, lane!.y + 2);
      const said = page.locator(".scrub .at");
      await expect(said).toHaveText(/^\d\d:\d\d:\d\d · \d\d:\d\d:\d\d UTC$/);
      const [own, utc] = ((await said.textContent()) ?? "").split(" · ").map((time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5)));
      expect((own! - utc! + 1_440) % 1_440, "Kolkata is 5 h 30 min ahead").toBe(330);
      await expect(page.locator(".sentence, .lead"), "the first sentence too").toHaveAttribute("title", / UTC/);
      await page.getByRole("button", { name: "UTC" }).click();
      await page.mouse.move(lane!.x + lane!.width / 3, lane!.y + 2);
      await expect(said).toHaveText(/^\d\d:\d\d:\d\d UTC$/);
      await page.getByRole("button", { name: "UTC" }).click();
    }
    await page.goto(`${server.board}/incidents/${incident}`);
    for (const label of await page.locator(".axis text").all()) {
      const own = (await label.evaluate((text) => text.lastChild?.textContent)) ?? "";
      await expect(label.locator("title")).toHaveText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
      expect(own).not.toContain("UTC");
    }
  });
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false, timezoneId: "Asia/Kolkata" });

  test("times are UTC and say so, and a search and a choice are plain forms", async ({ page, serve, upstream }) => {
    const { server, down, incident } = await lived(serve, upstream);
    for (const path of ["/incidents", `/incidents/${incident}`, "/audit", "/settings"]) {
      await page.goto(server.board + path);
      const said = await page.locator("main time").allTextContents();
      expect(said.length, path).toBeGreaterThan(0);
      for (const time of said) expect(time, path).toContain(" UTC");
    }
    await page.goto(`${server.board}/incidents`);
    const rows = page.locator(".incidents > li");
    await expect(rows).toHaveCount(2);
    await page.getByLabel("Upstream", { exact: true }).selectOption("npm");
    await page.getByRole("button", { name: "Show", exact: true }).first().click();
    await expect(page).toHaveURL(`${server.board}/incidents?upstream=npm`);
    await expect(rows).toHaveCount(1);
    await expect(rows).toContainText(down.breaker);
  });
});

test("filters stand in the address, and the files hold what is shown", async ({ page, serve, upstream }) => {
  const { server, down } = await lived(serve, upstream);
  const rows = page.locator(".incidents > li");
  await page.goto(`${server.board}/incidents`);
  await expect(rows).toHaveCount(2);
  await page.getByRole("link", { name: "open now" }).click();
  await expect(page).toHaveURL(`${server.board}/incidents?open=true`);
  await expect(rows).toHaveCount(1);
  await page.getByRole("navigation", { name: "Range" }).getByRole("link", { name: "24h" }).click();
  await expect(page).toHaveURL(`${server.board}/incidents?open=true&range=24h`);
  await page.getByPlaceholder("Host or upstream").fill("pip");
  await page.getByPlaceholder("Host or upstream").press("Enter");
  await expect(page).toHaveURL(/\/incidents\?q=pip&open=true&range=24h$/);
  await expect(page.getByText("No incident of a host that matches “pip” in the last 24 hours that lasts.")).toBeVisible();
  await page.getByRole("link", { name: "Show all" }).click();
  await expect(rows).toHaveCount(2);

  // Custom ends, as one hands them over.
  await page.goto(`${server.board}/incidents?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`);
  await expect(page.getByText("No incident from 1 Jan, 00:00 to 2 Jan, 00:00 UTC.")).toBeVisible();

  await page.goto(`${server.board}/incidents?open=true&upstream=npm`);
  const link = page.getByRole("navigation", { name: "Export" }).getByRole("link", { name: "JSON", exact: true });
  const file = await (await fetch(server.board + (await link.getAttribute("href")))).json();
  expect(file.rows.map((row: { breaker: string }) => row.breaker)).toEqual([down.breaker]);
  expect(file.export).toMatchObject({ open: true, upstream: "npm" });
});

test("the audit says who did what, why, and how it stood before and after", async ({ page, serve, upstream }) => {
  const { server } = await lived(serve, upstream);
  await page.goto(`${server.board}/audit`);
  const entries = page.locator(".record > li");
  await expect(entries).toHaveCount(2);
  await expect(entries.nth(0)).toContainText("ben (unverified) released the override: moved.");
  await expect(entries.nth(0)).toContainText("forced open → closed");
  await expect(entries.nth(1)).toContainText("ana (unverified) forced it open: CDN move.");
  await expect(entries.nth(1)).toContainText(/closed → forced open, until (\d+ \w+, )?\d\d:\d\d/);
});
