// Without a pointer: every step from looking to acting by keyboard alone, and no key acts by itself.

import { openLive, row, WORDS } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";
import { sheet } from "../fixtures/sheet.ts";

test("search, move, open a form, act and zoom by keyboard alone", async ({ page, serve, upstream }) => {
  const [npm, pip] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", npm, "slow") + upstreamEntry("pip", pip, "slow"));
  for (const host of [npm, pip]) host.fail(503);
  for (const name of ["npm", "npm", "pip", "pip"]) await server.call(name);
  await openLive(page, server.board);

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeHidden();

  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox")).toBeFocused();
  await page.keyboard.type("pip");
  await expect(row(page, npm.breaker)).toHaveCount(0);
  // Enter goes on to what was found; so does Escape, once it has emptied the field.
  await page.keyboard.press("Enter");
  await expect(row(page, pip.breaker).getByRole("link").first()).toBeFocused();
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("searchbox")).toHaveValue("");
  await expect(page.getByRole("searchbox")).toBeFocused();
  await expect(row(page, npm.breaker)).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.locator(".rows [data-id] a:focus")).toHaveCount(1);

  await page.keyboard.press("/");
  await page.keyboard.type("pip");
  await expect(row(page, npm.breaker)).toHaveCount(0);
  await page.keyboard.press("Tab");
  await page.keyboard.press("j");
  await expect(row(page, pip.breaker).getByRole("link").first()).toBeFocused();
  // A form that is left gives the focus back to its row.
  await page.keyboard.press("o");
  await expect(sheet(page)).toContainText("Force open");
  await page.keyboard.press("Escape");
  await expect(sheet(page)).toBeHidden();
  await expect(row(page, pip.breaker).getByRole("link").first()).toBeFocused();
  await page.keyboard.press("o");
  await sheet(page).getByRole("link", { name: "Cancel" }).focus();
  await page.keyboard.press("Enter");
  await expect(sheet(page)).toBeHidden();
  await expect(row(page, pip.breaker).getByRole("link").first()).toBeFocused();
  await page.keyboard.press("r");
  await expect(sheet(page)).toContainText("Reset");
  expect((await server.breaker(pip.breaker)).state, "a key opens and never acts").toBe("open");
  await page.keyboard.type("ana");
  await page.keyboard.press("Tab");
  await page.keyboard.type("the host is back");
  await page.keyboard.press("Enter");
  await expect(sheet(page)).toBeHidden();
  await expect.poll(async () => (await server.breaker(pip.breaker)).state).toBe("closed");
  await expect(row(page, pip.breaker)).toContainText(WORDS.closed);
  await expect(row(page, pip.breaker).getByRole("link").first()).toBeFocused();

  // The time axis: arrows move, space starts, Enter zooms, Escape goes back.
  await page.getByRole("slider").focus();
  for (let step = 0; step < 5; step++) await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Space");
  for (let step = 0; step < 3; step++) await page.keyboard.press("Shift+ArrowLeft");
  await expect(page.getByRole("slider")).toHaveAttribute("aria-valuetext", / to /);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/from=/);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/from=/);

  // On a breaker's page it goes back to what opened the form.
  await openLive(page, `${server.board}/breakers/${encodeURIComponent(npm.breaker)}`);
  await page.keyboard.press("o");
  await expect(page.getByLabel("Reason")).toBeFocused();
  await page.getByRole("link", { name: "Cancel" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: "Force open" })).toBeFocused();
});
