// Before a maintenance several hosts are forced open at once; after it they are released.

import { openLive, row } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";
import { fillSheet, sheet, toast } from "../fixtures/sheet.ts";

test("several hosts are forced open for a maintenance, and released after it", async ({ page, serve, upstream }) => {
  const hosts = [await upstream(), await upstream(), await upstream()];
  const [npm, pip, cargo] = hosts as [(typeof hosts)[0], (typeof hosts)[0], (typeof hosts)[0]];
  const names = ["npm", "pip", "cargo"];
  const server = await serve(
    SLOW_POLICY + hosts.map((host, nth) => upstreamEntry(names[nth] ?? "", host, "slow")).join(""),
  );
  for (const name of names) expect(await server.call(name)).toBe(200);
  // Somebody holds one of them already.
  const held = { mode: "forced_closed", reason: "trying it out", until: null, by: "bo" };
  expect((await server.send("PUT", `breakers/${encodeURIComponent(pip.breaker)}/override`, held)).status).toBe(200);

  await openLive(page, server.board);
  await page.locator("details.rest > summary").click();
  for (const host of [npm, pip]) await page.getByRole("checkbox", { name: `Select ${host.breaker}` }).check();
  const bar = page.getByRole("form", { name: "Selected breakers" });
  await expect(bar).toContainText("2 selected");
  await bar.getByRole("button", { name: "Force open" }).click();

  await expect(sheet(page).locator(".touches")).toHaveText(/^Touches 2 breakers, \d+ calls? a minute; ends bo's override on 1\.$/);
  expect((await server.breaker(npm.breaker)).override, "a dry run does nothing").toBe(null);
  await fillSheet(page, "Force open", { name: "ana", reason: "storage maintenance", end: "1 h" });
  await expect(toast(page)).toContainText("Forced open: 2 breakers.");
  for (const host of [npm, pip]) {
    await expect(row(page, host.breaker)).toContainText("forced open");
    expect((await server.breaker(host.breaker)).override?.mode).toBe("forced_open");
    const [entry] = await server.rows("audit", host.breaker);
    expect(entry).toMatchObject({ actor: { name: "unverified: ana" }, reason: "storage maintenance" });
  }
  expect(await server.call("npm")).toBe(503);
  expect(await server.call("cargo"), "not selected").toBe(200);
  expect(cargo.calls.length).toBe(2);

  // What was done to is no longer selected: the next key is about the host it is pressed on.
  await expect(page.getByRole("checkbox", { checked: true })).toHaveCount(0);
  // One that is not held is among those that are released: each is told apart, before and after.
  for (const host of [npm, pip, cargo]) await page.getByRole("checkbox", { name: `Select ${host.breaker}` }).check();
  await bar.getByRole("button", { name: "Release" }).click();
  const each = sheet(page).getByRole("list", { name: "Each of them" }).getByRole("listitem");
  await expect(each).toHaveCount(3);
  await expect(each.first()).toContainText(cargo.breaker);
  await expect(each.filter({ hasText: npm.breaker })).toContainText("held by ana (unverified): storage maintenance");
  await sheet(page).getByLabel("Your name").fill("ana");
  await sheet(page).getByLabel("Reason").fill("maintenance is over");
  await sheet(page).getByRole("button", { name: "Release", exact: true }).click();
  await expect(toast(page)).toContainText("Released: 2 breakers. 1 refused.");
  await expect(each).toHaveCount(3);
  await expect(each.first()).toContainText(cargo.breaker);
  await expect(each.filter({ hasText: npm.breaker })).toContainText("Released");
  for (const name of names) await expect.poll(() => server.call(name)).toBe(200);
  await sheet(page).getByRole("link", { name: "Cancel" }).click();
  await expect(sheet(page)).toBeHidden();
});

test("an undo of many says where somebody else had acted meanwhile", async ({ page, serve, upstream }) => {
  const [npm, pip, cargo] = [await upstream(), await upstream(), await upstream()];
  const server = await serve(
    SLOW_POLICY + upstreamEntry("npm", npm, "slow") + upstreamEntry("pip", pip, "slow") + upstreamEntry("cargo", cargo, "slow"),
  );
  const ids = [npm, pip, cargo].map((host) => `&id=${encodeURIComponent(host.breaker)}`).join("");
  await openLive(page, `${server.board}/?act=force-open${ids}`);
  await fillSheet(page, "Force open", { name: "ana", reason: "storage maintenance", end: "1 h" });
  const held = { mode: "forced_closed", reason: "needed now", until: null, by: "bo" };
  expect((await server.send("PUT", `breakers/${encodeURIComponent(pip.breaker)}/override`, held)).status).toBe(200);
  await toast(page).getByRole("button", { name: /^Undo/ }).click();
  await expect(toast(page)).toContainText(`Undone on 2. Not on ${pip.breaker}: Somebody has acted on it since`);
  expect((await server.breaker(npm.breaker)).override).toBe(null);
  expect((await server.breaker(pip.breaker)).override?.mode).toBe("forced_closed");
});

test("a plan works without script too", async ({ browser, serve, upstream }) => {
  const [npm, pip] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", npm, "slow") + upstreamEntry("pip", pip, "slow"));
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(server.board);
  for (const host of [npm, pip]) await page.getByRole("checkbox", { name: `Select ${host.breaker}` }).check();
  await page.getByRole("form", { name: "Selected breakers" }).getByRole("button", { name: "Force open" }).click();
  await expect(sheet(page)).toContainText("Touches 2 breakers");
  await sheet(page).getByLabel("Your name").fill("ana");
  await sheet(page).getByLabel("Reason").fill("storage maintenance");
  await sheet(page).getByRole("button", { name: "Force open", exact: true }).click();
  await expect(page.getByRole("status").filter({ hasText: "Forced open: 2 breakers." })).toBeVisible();
  for (const host of [npm, pip]) expect((await server.breaker(host.breaker)).override?.mode).toBe("forced_open");
  await page.getByRole("button", { name: /^Undo/ }).click();
  await expect(page.getByRole("status").filter({ hasText: "Undone: 2 breakers." })).toBeVisible();
  for (const host of [npm, pip]) expect((await server.breaker(host.breaker)).override).toBe(null);
  await page.close();
});
