// Two operators act at once: each sees what the other did, and neither ends the other's override unawares.

import { openLive, row } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";
import { fillSheet, sheet } from "../fixtures/sheet.ts";

test("two operators see each other's actions and are warned before one ends the other's", async ({
  browser,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  host.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  const [ana, bo] = await Promise.all(
    ["ana", "bo"].map(async () => (await browser.newContext()).newPage().then((page) => openLive(page, server.board).then(() => page))),
  );
  if (!ana || !bo) throw new Error("two pages");
  for (const page of [ana, bo]) await row(page, host.breaker).getByRole("link", { name: /^Reset/ }).click();
  // Bo has the form open while Ana decides otherwise.
  await ana.keyboard.press("Escape");
  await row(ana, host.breaker).getByRole("button", { name: /^More about/ }).click();
  await row(ana, host.breaker).getByRole("link", { name: "Force open", exact: true }).click();
  await fillSheet(ana, "Force open", { name: "ana", reason: "the vendor asked for quiet", end: "1 h" });
  await expect(row(bo, host.breaker)).toContainText("ana (unverified): the vendor asked for quiet");

  await sheet(bo).getByLabel("Your name").fill("bo");
  await sheet(bo).getByLabel("Reason").fill("looks fine to me");
  await sheet(bo).getByRole("button", { name: "Reset", exact: true }).click();
  await expect(sheet(bo), "it is not ended unawares").toContainText("ana");
  await expect(sheet(bo).locator(".touches")).toContainText("this ends ana's override, once that is ticked");
  await expect(sheet(bo).locator(".results")).toContainText("tick that it is to be ended too, or release it first");
  expect((await server.breaker(host.breaker)).override?.mode).toBe("forced_open");

  await sheet(bo).getByLabel("Also end the overrides that stand").check();
  await sheet(bo).getByRole("button", { name: "Reset", exact: true }).click();
  await expect(sheet(bo)).toBeHidden();
  await expect(row(ana, host.breaker)).toContainText("closed");
  const audit = await server.rows("audit", host.breaker);
  expect(audit.map((entry) => entry.actor?.name)).toEqual(["unverified: bo", "unverified: ana"]);
  await ana.close();
  await bo.close();
});
