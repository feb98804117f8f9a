// An operator holds a breaker open or closed, for a time or until further notice.

import { openLive, row, story, WORDS } from "../fixtures/board.ts";
import { act } from "../fixtures/forms.ts";
import { expect, QUICK_POLICY, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("forced open with an end survives a restart and ends by itself", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  expect(await server.call("npm")).toBe(200);
  const reached = host.calls.length;

  await page.goto(server.breakerPage(host.breaker));
  await act(page, "Force open", { name: "ana", reason: "CDN move", end: "15 min" });
  await expect.poll(async () => (await server.breaker(host.breaker)).override?.mode).toBe("forced_open");
  expect(await server.call("npm")).toBe(503);

  await server.restart();
  await page.goto(server.breakerPage(host.breaker));
  await expect(story(page)).toContainText("forced open");
  await expect(story(page)).toContainText("CDN move");
  expect(await server.call("npm"), "still held after the restart").toBe(503);

  // No test waits a quarter of an hour: the same override gets a nearer end, and meets it across another restart.
  const id = encodeURIComponent(host.breaker);
  const nearer = { mode: "forced_open", reason: "CDN move, almost done", for_ms: 6_000, by: "ana" };
  expect((await server.send("PUT", `breakers/${id}/override`, nearer)).status).toBe(200);
  await server.restart();
  await openLive(page, server.board);
  await expect(row(page, host.breaker)).toContainText("forced open");
  expect(host.calls.length, "nothing was sent while it was held").toBe(reached);

  await expect(row(page, host.breaker)).not.toContainText("forced open");
  expect(await server.call("npm")).toBe(200);
  await expect(row(page, host.breaker)).toContainText(WORDS.closed);
  // The board hears of it before it is written.
  await expect
    .poll(async () => {
      const rows = await server.rows("transitions", host.breaker);
      return rows.map((row) => (row.cause as { kind: string }).kind).filter((kind) => kind.startsWith("override_"));
    })
    .toEqual(["override_expired", "override_changed", "override_set"]);
});

test("forced open without an end is latched until somebody releases it", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  expect(await server.call("npm")).toBe(200);

  await page.goto(server.breakerPage(host.breaker));
  await act(page, "Force open", { name: "ana", reason: "until we know more", end: "no end" });
  await expect.poll(() => server.call("npm")).toBe(503);
  await openLive(page, server.board);
  await expect(row(page, host.breaker)).toContainText("latched");

  await page.goto(server.breakerPage(host.breaker));
  await act(page, "Release", { name: "bo", reason: "we know more" });
  await expect.poll(() => server.call("npm")).toBe(200);
  // It takes effect first and is written then.
  await expect
    .poll(async () => (await server.rows("audit", host.breaker))[0])
    .toMatchObject({ actor: { name: "unverified: bo" }, reason: "we know more" });
});

test("forced closed lets calls through to a failing host, and its shadow is there when it is released", async ({
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  host.fail(500);

  await page.goto(server.breakerPage(host.breaker));
  await act(page, "Force closed", { name: "ana", reason: "a 500 is better than nothing", end: "1 h" });
  await expect.poll(async () => (await server.breaker(host.breaker)).override?.mode).toBe("forced_closed");
  for (let call = 1; call <= 5; call++) expect(await server.call("npm")).toBe(500);
  expect(host.calls.length).toBe(5);

  await openLive(page, server.board);
  await expect(row(page, host.breaker)).toContainText("forced closed");

  await page.goto(server.breakerPage(host.breaker));
  await expect(story(page)).toContainText("would be open");
  await act(page, "Release", { name: "ana", reason: "enough" });
  await expect.poll(() => server.call("npm")).toBe(503);
  const before = host.calls.length;
  expect(await server.call("npm"), "the shadow was open and its wait goes on").toBe(503);
  expect(host.calls.length).toBe(before);
});
