// The case the product exists for: a breaker that stays open though its host is back, because nobody calls.

import { openLive, row } from "../fixtures/board.ts";
import { act } from "../fixtures/forms.ts";
import { expect, QUICK_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("a latched host is reset in the browser, the next call reaches it, the audit row survives kill -9", async ({
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  host.fail(503);
  expect(await server.call("npm")).toBe(503);
  expect(await server.call("npm")).toBe(503);
  await host.heal();
  const reached = host.calls.length;

  // Open, its wait long over, and no caller to probe it.
  await openLive(page, server.board);
  await expect(row(page, host.breaker)).toContainText("latched", { timeout: 20_000 });

  await page.goto(server.breakerPage(host.breaker));
  await act(page, "Reset", { name: "ana", reason: "the host is back, tried it by hand" });
  await expect.poll(async () => (await server.breaker(host.breaker)).state).toBe("closed");
  expect(host.calls.length, "a reset sends nothing").toBe(reached);

  expect(await server.call("npm")).toBe(200);
  expect(host.calls.length).toBe(reached + 1);

  // The answer came when it was durable, so the row is there.
  await expect(page.getByRole("status").filter({ hasText: "Reset." })).toBeVisible();
  const [entry] = await server.rows("audit", host.breaker);
  expect(entry).toMatchObject({
    breaker: host.breaker,
    actor: { name: "unverified: ana", verified: false },
    reason: "the host is back, tried it by hand",
  });
  expect(entry?.seq).toBeGreaterThan(0);

  await server.kill();
  await server.start();
  expect((await server.rows("audit", host.breaker))[0]).toEqual(entry);
  expect((await server.breaker(host.breaker)).state).toBe("closed");
});

test("a form without a reason is sent back and changes nothing", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  host.fail(503);
  await server.call("npm");
  await server.call("npm");

  await page.goto(server.breakerPage(host.breaker));
  await act(page, "Reset", { name: "ana", reason: "" });
  await expect.poll(() => page.locator(":invalid, [role=alert]").count()).toBeGreaterThan(0);
  expect((await server.breaker(host.breaker)).state).toBe("open");
  expect(await server.rows("audit", host.breaker)).toEqual([]);
});
