// Whoever looks for a host sees it at once: quiet ones too, and whatever they typed before the page was ready.

import { expectLive, openLive, row } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("what is looked for is in sight, also a quiet host while another is down", async ({ page, serve, upstream }) => {
  const [fine, down] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("fine", fine, "slow") + upstreamEntry("down", down, "slow"));
  await server.call("fine");
  down.fail(503);
  for (let call = 0; call < 2; call++) await server.call("down");

  await openLive(page, server.board);
  await expect(row(page, down.breaker)).toBeVisible();
  await expect(row(page, fine.breaker)).toBeHidden();
  await page.getByRole("searchbox").fill("fine");
  await expect(row(page, fine.breaker)).toBeVisible();
  await expect(row(page, down.breaker)).toHaveCount(0);

  await page.getByRole("searchbox").fill("");
  await expect(row(page, down.breaker)).toBeVisible();
  await page.getByRole("link", { name: /^closed/ }).click();
  await expect(row(page, fine.breaker)).toBeVisible();
});

test("what is typed before the page runs is looked for once it does", async ({ page, serve, upstream }) => {
  const [fine, other] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("fine", fine, "slow") + upstreamEntry("other", other, "slow"));
  let ready = () => {};
  const typed = new Promise<void>((resolve) => (ready = resolve));
  await page.route("**/*.wasm", async (route) => {
    await typed;
    await route.continue();
  });
  await page.goto(server.board, { waitUntil: "commit" });
  const box = page.getByRole("searchbox");
  await box.fill("fine");
  ready();
  await expectLive(page);
  await expect(box).toHaveValue("fine");
  await expect(page).toHaveURL(/[?&]q=fine/);
  await expect(row(page, other.breaker)).toHaveCount(0);
});
