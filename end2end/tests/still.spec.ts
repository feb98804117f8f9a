// Nobody clicks on a row that moves away under the pointer: the order waits, and says how much of it has changed.

import { openLive, row, WORDS } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("rows stay where they are while the pointer or the focus is among them", async ({ page, serve, upstream }) => {
  const [npm, pip, cargo] = [await upstream(), await upstream(), await upstream()];
  const server = await serve(
    SLOW_POLICY + upstreamEntry("npm", npm, "slow") + upstreamEntry("pip", pip, "slow") + upstreamEntry("cargo", cargo, "slow"),
  );
  const trip = async (name: string, host: typeof npm) => {
    host.fail(503);
    for (let call = 0; call < 2; call++) await server.call(name);
  };
  await trip("npm", npm);
  await openLive(page, server.board);
  const troubled = page.locator(".rows").first().locator("[data-id]");
  await expect(troubled).toHaveCount(1);
  const resort = page.getByRole("button", { name: /re-sort/ });

  await row(page, npm.breaker).hover();
  await trip("pip", pip);
  await expect(resort).toHaveText("1 changed, re-sort");
  await expect(troubled).toHaveCount(1);
  const [button, first] = [await resort.boundingBox(), await troubled.first().boundingBox()];
  expect(button!.y + button!.height, "it hides no row").toBeLessThanOrEqual(first!.y + 1);
  await page.mouse.move(0, 0);
  await expect(troubled).toHaveCount(2);
  await expect(resort).toBeHidden();

  await page.keyboard.press("j");
  await expect(page.locator(".rows [data-id] a:focus")).toHaveCount(1);
  await trip("cargo", cargo);
  await expect(resort).toHaveText("1 changed, re-sort");
  await expect(troubled).toHaveCount(2);
  await resort.click();
  await expect(troubled).toHaveCount(3);
  await expect(row(page, cargo.breaker)).toContainText(WORDS.open);
});
