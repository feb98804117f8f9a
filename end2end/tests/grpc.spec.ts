// gRPC on the board: codes by their names, methods and message counts, and the filters for it.

import { openLive, row, story, WORDS } from "../fixtures/board.ts";
import { rpc } from "../fixtures/rpc.ts";
import { expect, QUICK_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

const LIST = "/accounts.v1.Accounts/List";
const RPC_POLICY = `
[policy.rpc]
trip = [{ consecutive = 2, within = "10s" }]
wait = { first = "1s", factor = 1.0, max = "1s", jitter = 0.0 }
half_open = { probes = 1, successes = 1, lease = "40s" }
`;

test("a stream that fails late is told by code, method and messages", async ({ page, serve, service }) => {
  const host = await service();
  const server = await serve(RPC_POLICY + host.entry("accounts", ["accounts.v1.*"], "rpc"));
  await openLive(page, server.board);

  host.say(2, 14);
  expect(await rpc(server.gateway, LIST)).toBe(14);
  expect(await rpc(server.gateway, LIST)).toBe(14);
  await expect(row(page, "accounts")).toContainText(WORDS.open);
  await expect(row(page, "accounts")).toContainText("UNAVAILABLE");

  await page.goto(server.breakerPage("accounts"));
  await expect(story(page).locator(".lead")).toContainText("answered UNAVAILABLE");
  await expect(story(page)).toContainText("Speaks gRPC for accounts.v1.*");
  const evidence = story(page).locator("details.evidence").first();
  await evidence.locator("summary").click();
  await expect(evidence).toContainText(`POST ${LIST}`);
  await expect(evidence).toContainText("answered UNAVAILABLE");
  await expect(evidence).toContainText("1 message sent, 2 back");

  // Its first call after the wait is the probe: the service answers, the client is at fault.
  host.say(0, 5);
  await expect.poll(() => rpc(server.gateway, LIST), { intervals: [100] }).toBe(5);
  await expect(story(page)).toContainText("Answered, client at fault, answered NOT_FOUND, 1 message sent, 0 back");
  await expect(story(page)).toContainText(WORDS.closed);
});

test("protocol and service narrow the panel down", async ({ page, serve, service, upstream }) => {
  const [host, web] = [await service(), await upstream()];
  const upstreams = host.entry("accounts", ["accounts.v1.*", "audit.Log"], "rpc") + upstreamEntry("npm", web);
  const server = await serve(RPC_POLICY + QUICK_POLICY + upstreams);
  expect(await rpc(server.gateway, LIST)).toBe(0);
  expect(await server.call("npm")).toBe(200);
  await openLive(page, server.board);
  const [accounts, npm] = [row(page, "accounts"), row(page, web.breaker)];
  await expect(accounts).toBeVisible();
  await expect(npm).toBeVisible();

  await page.getByRole("link", { name: "gRPC", exact: true }).click();
  await expect(npm).toHaveCount(0);
  await expect(accounts).toBeVisible();
  await expect(page).toHaveURL(/[?&]protocol=grpc/);
  await page.getByRole("link", { name: "HTTP", exact: true }).click();
  await expect(accounts).toHaveCount(0);
  await expect(npm).toBeVisible();
  await page.getByRole("link", { name: "HTTP", exact: true }).click();

  // A service by its name, or a path as it stands in a client's log.
  for (const sought of ["accounts.v1.Accounts", LIST, "audit.log"]) {
    await page.getByRole("searchbox").fill(sought);
    await expect(npm, sought).toHaveCount(0);
    await expect(accounts, sought).toBeVisible();
  }
  await page.getByRole("searchbox").fill("billing.v1.Invoices");
  await expect(accounts).toHaveCount(0);
});

test("the demo has a gRPC service that fails late", async ({ page, demo }) => {
  test.setTimeout(120_000);
  const server = await demo();
  await openLive(page, server.board);
  await expect(row(page, "ledger")).toContainText("UNAVAILABLE", { timeout: 60_000 });
  await page.goto(server.breakerPage("ledger"));
  const evidence = story(page).locator("details.evidence").first();
  await evidence.locator("summary").click();
  await expect(evidence).toContainText("/ledger.v1.Ledger/WatchEntries");
  await expect(evidence).toContainText("1 message sent, 2 back");
});
