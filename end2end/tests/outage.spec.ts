// A host goes down and comes back: everyone who has the board open sees it, without doing anything.

import { expectLive, freshness, openLive, row, story, WORDS } from "../fixtures/board.ts";
import { expect, QUICK_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("an outage appears in two tabs within a second without reload, and recovers", async ({
  browser,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  expect(await server.call("npm")).toBe(200);

  const tabs = [await browser.newPage(), await browser.newPage()];
  for (const tab of tabs) {
    await openLive(tab, server.board);
    await expect(row(tab, host.breaker)).toContainText(WORDS.closed);
    // Gone after a reload.
    await tab.evaluate(() => document.documentElement.setAttribute("data-first-load", ""));
  }

  await host.refuse();
  expect(await server.call("npm")).toBe(502);
  expect(await server.call("npm")).toBe(502);
  // The second failure tripped it just now.
  await Promise.all(
    tabs.map((tab) => expect(row(tab, host.breaker)).toContainText(WORDS.open, { timeout: 1_000 })),
  );

  await host.heal();
  await expect.poll(() => server.call("npm"), { intervals: [100] }).toBe(200);
  await Promise.all(
    tabs.map((tab) => expect(row(tab, host.breaker)).toContainText(WORDS.closed, { timeout: 1_000 })),
  );
  for (const tab of tabs) {
    await expect(tab.locator("html")).toHaveAttribute("data-first-load", "");
    await tab.close();
  }
});

test("a panel that lost its server says so, and goes on where it was", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  expect(await server.call("npm")).toBe(200);
  await openLive(page, server.board);

  await server.kill();
  await expect(freshness(page)).toContainText("reconnecting", { timeout: 20_000 });
  await server.start();
  await expectLive(page);

  await host.refuse();
  await server.call("npm");
  await server.call("npm");
  await expect(row(page, host.breaker)).toContainText(WORDS.open);
});

test("a board that hears nothing says for how long and makes nothing up", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  host.fail(503);
  await openLive(page, server.breakerPage(host.breaker));
  expect(await server.call("npm")).toBe(503);
  expect(await server.call("npm")).toBe(503);
  await expect(story(page)).toContainText(WORDS.open);
  await server.kill();

  // The wait of 2 s ends within the 5 s in which the board still trusts its clock; "latched" would come after 12 s.
  await expect(freshness(page)).toHaveText(/reconnecting, no word for [67] s/, { timeout: 20_000 });
  const said = await story(page).locator(".lead").innerText();
  await expect(freshness(page)).toHaveText(/no word for 1[6-9] s/, { timeout: 20_000 });
  await expect(story(page).locator(".lead")).toHaveText(said);
  await expect(story(page)).not.toContainText("latched");
});
