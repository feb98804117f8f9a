// A shift ends: the address says what is looked at, and whoever opens it looks at the same.

import { openLive, row } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("an address hands over search, filter and the stretch of time", async ({ browser, page, serve, upstream }) => {
  const [npm, pip] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", npm, "slow") + upstreamEntry("pip", pip, "slow"));
  for (const host of [npm, pip]) host.fail(503);
  for (const name of ["npm", "npm", "pip", "pip"]) await server.call(name);

  await openLive(page, server.board);
  await page.getByRole("searchbox").fill("npm");
  await page.getByRole("link", { name: /^open/ }).click();
  await expect(row(page, pip.breaker)).toHaveCount(0);

  // A drag on any lane zooms all of them; the crosshair stands in each.
  const lane = row(page, npm.breaker).locator(".lane");
  const box = await lane.boundingBox();
  if (!box) throw new Error("the lane has no place");
  const at = (share: number) => [box.x + box.width * share, box.y + box.height / 2] as const;
  await page.mouse.move(...at(0.25));
  await expect(page.locator(".panel.is-pointed .scrub .at")).toBeVisible();
  await page.mouse.down();
  await page.mouse.move(...at(0.5), { steps: 4 });
  await expect(page.locator(".panel.is-selecting")).toHaveCount(1);
  await page.mouse.up();
  await expect(page).toHaveURL(/[?&]from=[^&]+&to=/);
  await expect(page.locator(".zoomed")).toBeVisible();
  const said = await page.locator(".zoomed").innerText();
  const label = await lane.getAttribute("aria-label");

  const colleague = await (await browser.newContext()).newPage();
  await openLive(colleague, page.url());
  await expect(colleague.getByRole("searchbox")).toHaveValue("npm");
  await expect(colleague.getByRole("link", { name: /^open/ })).toHaveAttribute("aria-current", "true");
  await expect(row(colleague, pip.breaker)).toHaveCount(0);
  await expect(colleague.locator(".zoomed")).toHaveText(said.replace(/\n/g, ""));
  await expect(row(colleague, npm.breaker).locator(".lane")).toHaveAttribute("aria-label", label ?? "");
  await colleague.close();

  // Double-click goes back, and so does the browser.
  await page.mouse.dblclick(...at(0.5));
  await expect(page).not.toHaveURL(/from=/);
  await expect(page.locator(".zoomed")).toBeHidden();
  await page.goBack();
  await expect(page.locator(".zoomed")).toBeVisible();
});

test("a state that is none shows all, and says so", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  await openLive(page, `${server.board}/?state=nope`);
  await expect(page.getByText("There is no state 'nope', so all are shown.")).toBeVisible();
  await expect(row(page, host.breaker)).toBeVisible();
});
