// The board's signs on the screen as it is: every state stays apart from every other in full colour, in grey, and for those
// who lack a kind of cone. Measured in screenshots, not computed from the style.

import type { Page } from "@playwright/test";
import { openLive, row } from "../fixtures/board.ts";
import { contrast, seen, type Vision } from "../fixtures/colours.ts";
import { apart, ink, otherwiseInked, taken, type Picture } from "../fixtures/pictures.ts";
import { expect, HALF_POLICY, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

const VISIONS: Vision[] = ["full", "grey", "protan", "deutan", "tritan"];
/** Five times what an eye just tells apart, over all that is drawn. */
const APART = 0.1;
/** Of a sign, what must be ink in one and ground in the other: an eighth, or the form is the same. */
const FORM = 0.12;

function eachPair<T>(all: Record<string, T>, look: (names: string, one: T, other: T) => void): void {
  const entries = Object.entries(all);
  entries.forEach(([name, one], nth) => {
    for (const [next, other] of entries.slice(nth + 1)) look(`${name} beside ${next}`, one, other);
  });
}

async function inEachTheme(page: Page, look: (theme: string) => Promise<void>): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await look(colorScheme);
  }
}

test("states differ in sign and word, without colour too", async ({ page, browser, serve, upstream }) => {
  const names = ["closed", "waiting", "open", "half", "held", "latched", "cooling"] as const;
  const hosts = await Promise.all(names.map(() => upstream()));
  const host = (name: (typeof names)[number]) => hosts[names.indexOf(name)]!;
  const cooldown = "classify = { cooldown = true }\n";
  const server = await serve(
    HALF_POLICY +
      SLOW_POLICY +
      names
        .map((name, nth) => upstreamEntry(name, hosts[nth]!, name === "half" ? "half" : "slow") + (name === "cooling" ? cooldown : ""))
        .join(""),
  );
  await server.call("closed");
  host("cooling").fail(429, { "retry-after": "600" });
  await server.call("cooling");
  for (const name of ["open", "half"] as const) {
    host(name).fail(503);
    for (let call = 0; call < 2; call++) await server.call(name);
  }
  const hold = async (name: "held" | "latched", until: Record<string, unknown>) => {
    const command = { mode: "forced_open", reason: "CDN move", by: "ana", ...until };
    expect((await server.send("PUT", `breakers/${host(name).breaker}/override`, command)).status).toBe(200);
  };
  await hold("held", { for_ms: 3_600_000 });
  await hold("latched", { until: null });
  await expect.poll(async () => (await server.breaker(host("half").breaker)).probe_due).toBe(true);
  await host("half").heal();
  expect(await server.call("half")).toBe(200);
  await expect.poll(async () => (await server.breaker(host("half").breaker)).state).toBe("half_open");

  await openLive(page, server.board);
  for (const folded of await page.locator("details:not([open]) > summary").filter({ hasText: /closed|waiting/ }).all()) await folded.click();
  await expect(row(page, host("half").breaker)).toContainText("half-open");
  const reader = await browser.newPage();
  await inEachTheme(page, async (theme) => {
    const signs: Record<string, Picture> = {};
    const words: Record<string, string> = {};
    for (const name of names) {
      const standing = row(page, host(name).breaker).locator(".standing").first();
      signs[name] = await taken(standing.locator(".sign"), reader);
      words[name] = (await standing.locator(".words").textContent()) ?? "";
    }
    eachPair(words, (pair, one, other) => expect(one, `the words of ${pair}`).not.toBe(other));
    eachPair(signs, (pair, one, other) => {
      for (const vision of VISIONS) {
        expect.soft(apart(one, other, vision), `${pair}, ${theme}, ${vision}`).toBeGreaterThan(APART);
      }
      // An override without an end has the pin of any override: there the word differs.
      expect.soft(otherwiseInked(one, other), `the form of ${pair}, ${theme}`).toBeGreaterThan(FORM);
    });
  });
  await reader.close();
});

test("bands of a lane differ in form, and neighbours by 3:1 in luminance", async ({ page, browser, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  host.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  const { rows } = await server.get<{ rows: { id: number }[] }>("incidents");
  await page.goto(`${server.board}/incidents/${rows[0]!.id}`);
  // The legend draws each band as lanes do.
  await page.getByText("What the lanes show").click();
  const reader = await browser.newPage();
  await inEachTheme(page, async (theme) => {
    const bands: Record<string, Picture> = {};
    for (const item of await page.locator(".signs li").filter({ has: page.locator(".lane") }).all()) {
      bands[((await item.textContent()) ?? "").trim()] = await taken(item.locator(".lane"), reader);
    }
    expect(Object.keys(bands)).toHaveLength(8);
    eachPair(bands, (pair, one, other) => {
      for (const vision of VISIONS) {
        expect.soft(apart(one, other, vision), `${pair}, ${theme}, ${vision}`).toBeGreaterThan(APART);
      }
    });
    // In the lane itself: where it is open, and the ground beside it.
    const lane = await taken(page.locator(".timeline .tall .lane").first(), reader);
    const ground = lane.pixels[0]!;
    for (const vision of VISIONS) {
      const ratio = contrast(seen(ink(lane), vision), seen(ground, vision));
      expect.soft(ratio, `open on its ground, ${theme}, ${vision}`).toBeGreaterThanOrEqual(3);
    }
  });
  await reader.close();
});
