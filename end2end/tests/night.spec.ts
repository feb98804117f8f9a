// Three in the morning, a phone, one thumb: what is down, since when, and one action with the way back.

import { expectLive, row } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";
import { fillSheet, sheet, toast } from "../fixtures/sheet.ts";

test.use({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme: "dark" });

test("a phone at night shows what is down, and an action and its undo need one thumb", async ({
  page,
  serve,
  upstream,
}) => {
  const [down, fine] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", down, "slow") + upstreamEntry("pip", fine, "slow"));
  down.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  expect(await server.call("pip")).toBe(200);

  await page.goto(server.board);
  await expectLive(page);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("1 host refused");
  const card = row(page, down.breaker);
  await expect(card).toContainText("answered 503");
  await expect(row(page, fine.breaker), "what flows is folded").toBeHidden();
  const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(await sideways()).toBeLessThanOrEqual(0);

  const reset = card.getByRole("link", { name: /^Reset/ });
  expect((await reset.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  await card.getByRole("button", { name: /^More about/ }).tap();
  await card.getByRole("link", { name: "Force open", exact: true }).tap();

  // The form is a sheet at the bottom, as wide as the screen.
  const box = await sheet(page).boundingBox();
  expect(box?.width).toBe(360);
  expect(Math.round((box?.y ?? 0) + (box?.height ?? 0))).toBe(740);
  for (const button of await sheet(page).locator(".button:visible, .option:visible").all()) {
    expect((await button.boundingBox())?.height, await button.innerText()).toBeGreaterThanOrEqual(44);
  }
  await fillSheet(page, "Force open", { name: "ana", reason: "it flaps, I want to sleep", end: "4 h" });
  await expect(card).toContainText("forced open");
  expect(await sideways()).toBeLessThanOrEqual(0);

  await toast(page).getByRole("button", { name: /^Undo/ }).tap();
  await expect(toast(page)).toContainText("Undone");
  await expect(card).toContainText("open · refusing");
  const audit = await server.rows("audit", down.breaker);
  expect(audit.length, "an undo is a second action, and recorded").toBe(2);
});
