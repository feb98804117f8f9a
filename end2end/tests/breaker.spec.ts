// An operator opens the breaker that tripped, finds out why, and acts on it.

import type { Locator, Page } from "@playwright/test";
import { expectAccessible } from "../fixtures/a11y.ts";
import { openLive, story, WORDS } from "../fixtures/board.ts";
import { act } from "../fixtures/forms.ts";
import { expect, SLOW_POLICY, test, upstreamEntry, type Server } from "../fixtures/server.ts";
import { toast } from "../fixtures/sheet.ts";
import type { Upstream } from "../fixtures/upstream.ts";

function card(page: Page): Locator {
  return page.getByRole("region", { name: "Evidence" });
}

/** The breaker's page, of a host that failed twice and is refused now. */
async function tripped(page: Page, serve: (config: string) => Promise<Server>, host: Upstream): Promise<Server> {
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  expect(await server.call("npm", "fine")).toBe(200);
  host.fail(503);
  for (let call = 0; call < 2; call++) expect(await server.call("npm", "lodash?token=secret")).toBe(503);
  // It takes effect first and is written then.
  await expect.poll(async () => (await server.rows("transitions", host.breaker)).length).toBe(1);
  await openLive(page, server.breakerPage(host.breaker));
  await expect(story(page)).toContainText(WORDS.open);
  await expect(page.getByRole("list", { name: "Changes" })).toContainText("Opened: 2 calls failed");
  return server;
}

/** Where a change stands on the lane: the share of the window that lies before it. */
async function place(page: Page, server: Server, breaker: string): Promise<{ x: number; y: number; width: number; left: number }> {
  const [opened] = await server.rows("transitions", breaker);
  const box = await page.locator(".tall .strip").boundingBox();
  if (!opened || !box) throw new Error("no trip, or no lane");
  const ago = Date.now() - Date.parse(opened.at);
  // The page opens on the last quarter of an hour.
  return { x: box.x + box.width * (1 - ago / 900_000), y: box.y + box.height / 2, width: box.width, left: box.x };
}

test("the trip is zoomed into, and its evidence is pinned by pointer and by keyboard", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await tripped(page, serve, host);
  const at = await place(page, server, host.breaker);

  // A pointer that rests is told what is known there; one that leaves is told nothing more.
  await page.mouse.move(at.x, at.y);
  await expect(card(page)).toContainText("2 deciding calls:");
  await expect(card(page)).toContainText(/failed · GET \/lodash\?token=\S+ · answered 503 · after /);
  await expect(card(page)).not.toContainText("secret");
  await page.mouse.move(5, 5);
  await expect(card(page)).toBeHidden();

  // A drag over the trip zooms into it, and the address says so.
  await page.mouse.move(at.x - at.width * 0.1, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x - at.width * 0.02, at.y, { steps: 3 });
  await expect(page.locator(".timeline.is-selecting")).toHaveCount(1);
  // What is held may leave the lane.
  await page.mouse.move(at.left + at.width + 40, at.y - 5, { steps: 3 });
  await page.mouse.up();
  await expect(page).toHaveURL(/[?&]from=[^&]+&to=/);
  await expect(page.locator(".zoomed")).toBeVisible();
  for (const name of [/: closed|: open/, /^Calls, .* to /, /^Latency, .* to /]) {
    await expect(page.getByRole("img", { name }).first()).toBeVisible();
  }
  const zoomed = page.url();
  await page.reload();
  await expect(page).toHaveURL(zoomed);
  await expect(page.locator(".zoomed")).toBeVisible();

  // A click keeps the evidence; the pointer may go. Escape closes it, and by keyboard it is found as well.
  // What is drawn is drawn anew as it is read: a band that is just replaced stands nowhere.
  let open: { x: number; y: number } | null = null;
  await expect.poll(async () => (open = await page.locator(".tall .k-open").first().boundingBox()), "the outage is drawn").not.toBeNull();
  await page.mouse.click(open!.x + 2, open!.y + 10);
  await expect(card(page)).toHaveClass(/is-pinned/);
  await page.mouse.move(5, 5);
  await expect(card(page)).toContainText("Opened: 2 calls failed");
  await expectAccessible(page, "with the evidence pinned");
  await page.keyboard.press("Escape");
  await expect(card(page)).toBeHidden();

  const slider = page.getByRole("slider");
  await slider.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("PageUp");
  await expect(card(page)).toContainText("Opened: 2 calls failed");
  await page.keyboard.press("Enter");
  await expect(card(page)).toHaveClass(/is-pinned/);
  await page.keyboard.press("Escape");
  await expect(card(page)).toBeHidden();
  await expect(page, "Escape closed the card alone").toHaveURL(zoomed);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/from=/);
});

test("the axis is moved, keys open a form without acting, and the reset closes the breaker", async ({
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await tripped(page, serve, host);
  // With shift the axis moves; a double click goes back.
  const at = await place(page, server, host.breaker);
  await page.keyboard.down("Shift");
  await page.mouse.move(at.left + at.width * 0.3, at.y);
  await page.mouse.down();
  await page.mouse.move(at.left + at.width * 0.5, at.y, { steps: 3 });
  await expect(page.locator(".timeline.is-panning")).toHaveCount(1);
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await expect(page).toHaveURL(/[?&]from=[^&]+&to=/);
  await page.mouse.dblclick(at.left + at.width * 0.3, at.y);
  await expect(page).not.toHaveURL(/from=/);
  await expect(card(page), "two clicks that go back keep nothing").not.toHaveClass(/is-pinned/);

  // Keys list themselves, and open a form without acting.
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toContainText("keep the evidence");
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await expect(page).toHaveURL(/act=reset/);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/act=/);

  await host.heal();
  await act(page, "Reset", { name: "ana", reason: "CDN is back" });
  await expect(story(page)).toContainText(WORDS.closed);
  await expect(toast(page)).toContainText("Reset. The next call reaches the host.");
  await expect(toast(page).getByRole("button"), "a reset has no undo").toBeHidden();
  expect(await server.call("npm")).toBe(200);
});

test("an override is undone from its toast, and the form says whose it would end", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await tripped(page, serve, host);
  await act(page, "Force closed", { name: "ana", reason: "a 500 is better than nothing", end: "1 h" });
  await expect(story(page)).toContainText("forced closed");
  await expect(toast(page)).toContainText("Forced closed. Every call is let through now.");
  await toast(page).getByRole("button", { name: /^Undo \(\d+ s\)$/ }).click();
  await expect(toast(page)).toContainText("Undone: everything stands as it stood.");
  await expect(story(page)).toContainText(WORDS.open);
  await expect.poll(async () => (await server.breaker(host.breaker)).override).toBeNull();
  await expect(page.getByRole("list", { name: "What operators did" })).toContainText("undo of");

  // Somebody else's override is not ended unawares, and under forced open nothing is sent.
  const id = encodeURIComponent(host.breaker);
  const held = { mode: "forced_open", reason: "CDN move", until: null, by: "bo" };
  expect((await server.send("PUT", `breakers/${id}/override`, held)).status).toBe(200);
  await expect(story(page)).toContainText("latched");
  const actions = page.getByRole("region", { name: "Actions" });
  await actions.getByRole("link", { name: "Force closed", exact: true }).click();
  await expect(actions).toContainText("This ends bo's override (forced open: CDN move).");
  // What is said meanwhile lies over none of the form's buttons.
  const [said, cancel] = [await toast(page).boundingBox(), await actions.getByRole("link", { name: "Cancel" }).boundingBox()];
  if (said && cancel) expect(said.y + said.height <= cancel.y || said.y >= cancel.y + cancel.height).toBe(true);
  const before = host.calls.length;
  await act(page, "Probe now", { name: "ana", reason: "is it back" });
  await expect(actions).toContainText("Refused while bo's override");
  await expect(actions.getByRole("alert")).toContainText("held open, and then nothing is sent");
  expect(host.calls.length, "nothing was sent").toBe(before);
});

test("on a phone a finger zooms, picks and reads the evidence", async ({ browser, serve, upstream }) => {
  const host = await upstream();
  const context = await browser.newContext({ viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true });
  const page = await context.newPage();
  const server = await tripped(page, serve, host);
  await page.locator(".tall .strip").scrollIntoViewIfNeeded();
  const at = await place(page, server, host.breaker);
  await page.touchscreen.tap(at.x, at.y);
  await expect(card(page)).toHaveClass(/is-pinned/);
  await expect(card(page)).toContainText("2 deciding calls:");
  const box = await card(page).boundingBox();
  expect(box?.width, "as wide as the phone").toBe(360);
  await expectAccessible(page, "the evidence on a phone");
  const close = card(page).getByRole("button", { name: "Close" });
  expect((await close.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  await close.tap();
  await expect(card(page)).toBeHidden();
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow, "the page scrolls sideways").toBeLessThanOrEqual(0);
  await context.close();
});

test("on a phone a list shows the newest few until all of it is asked for", async ({ browser, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  const id = encodeURIComponent(host.breaker);
  for (let nth = 0; nth < 6; nth++) {
    const held = { mode: "forced_open", reason: `round ${nth}`, for_ms: 3_600_000, by: "ana" };
    expect((await server.send("PUT", `breakers/${id}/override`, held)).status).toBe(200);
  }
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({ viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true, javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(server.breakerPage(host.breaker));
    const changes = page.getByRole("list", { name: "Changes" }).getByRole("listitem");
    await expect(changes).toHaveCount(5);
    await expect(changes.first()).toContainText("round 5");
    const all = page.getByText("Show all changes");
    expect((await all.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await all.tap();
    await expect(changes).toHaveCount(6);
    await expect(page.getByText("Show all probes")).toBeHidden();
    await page.setViewportSize({ width: 1280, height: 780 });
    await expect(changes).toHaveCount(6);
    await expect(all, "a desk has room").toBeHidden();
    await context.close();
  }
});
