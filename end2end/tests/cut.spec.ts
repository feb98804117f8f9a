// The network goes away for a while: the board says so, makes nothing up, and goes on where it was.

import type { Page } from "@playwright/test";
import { expectLive, freshness, openLive, row, WORDS } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";
import { Cable } from "../fixtures/wire.ts";

test("a feed that is cut for ten seconds shows it, then the same record without a reload", async ({
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  expect(await server.call("npm")).toBe(200);
  const cable = await Cable.to(server.board);
  await openLive(page, cable.url);
  await page.evaluate(() => document.documentElement.setAttribute("data-first-load", ""));

  const cursor = async () => (await server.get<{ cursor: string }>("breakers")).cursor;
  await expect(freshness(page)).toHaveAttribute("title", `Last fact ${await cursor()}`);
  const before = await cursor();

  cable.pull();
  await expect(freshness(page), "a cut is known at once").toHaveText(/reconnecting/, { timeout: 3_000 });
  host.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  await expect(freshness(page)).toHaveText(/no word for 1\d s/, { timeout: 20_000 });
  await expect(page.getByRole("heading", { level: 1 })).toContainText(/As of \d\d:\d\d:\d\d/);
  await expect(row(page, host.breaker), "it makes nothing up").not.toContainText(WORDS.open);
  await expect(freshness(page)).toHaveAttribute("title", `Last fact ${before}`);
  expect(await cursor()).not.toBe(before);

  cable.plug();
  await expectLive(page);
  await expect(freshness(page), "the same number as the record").toHaveAttribute("title", `Last fact ${await cursor()}`);
  await expect(row(page, host.breaker)).toContainText(WORDS.open);
  await expect(page.getByRole("heading", { level: 1 })).not.toContainText("As of");
  await expect(page.locator("html")).toHaveAttribute("data-first-load", "");
  await cable.stop();
});

test("a reading that fails leaves the last one on the screen, dimmed and with its time, until it is tried again", async ({
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  expect(await server.call("npm")).toBe(200);
  const cable = await Cable.to(server.board);
  await openLive(page, cable.url);
  cable.pull();
  await page.getByRole("navigation", { name: "How far back" }).getByRole("link", { name: "last 6 hours" }).click();
  const said = page.getByRole("alert");
  await expect(said).toContainText(/did not answer.* What you see is from \d\d:\d\d:\d\d/);
  await expect(page.locator(".panel.is-dimmed")).toHaveCount(1);
  await expect(row(page, host.breaker)).toBeVisible();

  cable.plug();
  await said.getByRole("button", { name: "Try again" }).click();
  await expect(said).toHaveCount(0);
  await expect(page.locator(".panel.is-dimmed")).toHaveCount(0);
  await expect(row(page, host.breaker).locator(".lane")).toHaveAttribute("aria-label", /^last 6 hours/);
  await cable.stop();
});

// A browser opens six connections to one server over HTTP/1.1: with one each, the seventh tab would get no page.
test("eight tabs share one connection, and when its tab is closed the next one takes over", async ({ context, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  expect(await server.call("npm")).toBe(200);
  const opened: string[] = [];
  context.on("request", (request) => {
    if (request.url().includes("/api/v1/events")) opened.push(request.url());
  });
  const tabs: Page[] = [];
  for (let nth = 0; nth < 8; nth++) {
    const tab = await context.newPage();
    await openLive(tab, server.board);
    tabs.push(tab);
  }
  expect(opened.length, "one connection a browser").toBe(1);

  host.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  for (const tab of tabs) await expect(row(tab, host.breaker)).toContainText(WORDS.open, { timeout: 2_000 });

  await tabs[0]?.close();
  await expect.poll(() => opened.length).toBe(2);
  const forced = { mode: "forced_closed", reason: "better than nothing", for_ms: 600_000, by: "ana" };
  await server.send("PUT", `breakers/${encodeURIComponent(host.breaker)}/override`, forced);
  for (const tab of tabs.slice(1)) await expect(row(tab, host.breaker)).toContainText("forced closed");
});
