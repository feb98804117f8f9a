// A host goes down and comes back: everyone who has the board open sees it, without doing anything.

import { expectLive, freshness, openLive, row, WORDS } from "../fixtures/board.ts";
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
