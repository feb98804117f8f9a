// Nothing is configured yet: the board says what to do, and changes by itself once it is done.

import { expectLive, openLive, row, WORDS } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("the first run is led from an empty board to the first call without a reload of the page", async ({
  context,
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve("");
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await openLive(page, server.board);
  await page.evaluate(() => document.documentElement.setAttribute("data-first-load", ""));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("No upstream yet.");
  for (const [name, copied] of [
    ["upstream", /^\[\[upstream\]\]\nname = "npm"/],
    ["reload", /^kill -HUP/],
    ["npm", `npm config set registry ${server.gateway}/npm/`],
    ["pip", `pip config set global.index-url ${server.gateway}/pip/simple/`],
    ["cargo", new RegExp(`registry = "sparse\\+${server.gateway}/cargo/"`)],
  ] as const) {
    await page.getByRole("button", { name: `Copy ${name}`, exact: true }).click();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    if (typeof copied === "string") expect(text).toBe(copied);
    else expect(text).toMatch(copied);
  }

  await server.reload(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  await expect(row(page, host.breaker)).toContainText(WORDS.waiting);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Nothing called yet; 1 host waiting for the first call.");
  expect(await server.call("npm")).toBe(200);
  await expect(row(page, host.breaker)).toContainText(WORDS.closed);
  await expect(page.locator("html")).toHaveAttribute("data-first-load", "");
  await expectLive(page);
});
