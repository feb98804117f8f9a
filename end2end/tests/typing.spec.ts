// Whoever types fast, or pastes with a tool that types, finds every letter in the field and in the address.

import { openLive, row } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";
import config from "../playwright.config.ts";

// A browser forgets addresses that change too often; under test it would let them pass.
const launchOptions = { ...config.use?.launchOptions, ignoreDefaultArgs: ["--disable-ipc-flooding-protection"] };
test.use({ launchOptions });

test("text typed as fast as a machine types loses no letter, and the address says all of it", async ({
  context,
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  await openLive(page, server.board);
  const box = page.getByRole("searchbox");
  await box.focus();
  // More than a browser lets a page change its address in half a minute, one key right behind the other.
  const text = "abcdefghij".repeat(30);
  const keys = await context.newCDPSession(page);
  await Promise.all([...text].map((key) => keys.send("Input.dispatchKeyEvent", { type: "keyDown", text: key, key })));
  await expect(box).toHaveValue(text);
  await expect(page).toHaveURL(new RegExp(`[?&]q=${text}$`));
  await expect(page.getByText("No breaker matches")).toContainText(text);
  // Clearing it by the link empties the field too, and the way back brings it again.
  await page.getByRole("link", { name: "Clear search and filter" }).click();
  await expect(box).toHaveValue("");
  await expect(row(page, host.breaker)).toBeVisible();
  await page.goBack();
  await expect(box).toHaveValue(text);
});
