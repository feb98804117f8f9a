// The first two minutes of somebody who has just cloned the repository.

import { openLive } from "../fixtures/board.ts";
import { expect, test } from "../fixtures/server.ts";

const STATES = [
  "closed · flowing",
  "open · refusing",
  "half-open · probing",
  "forced open",
  "forced closed",
  "cooling down",
  "latched",
  "waiting for the first call",
];

declare global {
  interface Window {
    shown: Set<string>;
  }
}

test("the demo shows every word of state within two minutes", async ({ page, demo }) => {
  test.setTimeout(480_000);
  const server = await demo();
  // Some states are short: what stood in the page at any time counts.
  await page.addInitScript((states) => {
    window.shown = new Set();
    const look = () => {
      for (const folded of document.querySelectorAll("details")) folded.open = true;
      const text = document.body?.innerText ?? "";
      for (const state of states) if (text.includes(state)) window.shown.add(state);
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
    document.addEventListener("DOMContentLoaded", look);
  }, STATES);
  await openLive(page, server.board);
  await expect(page.getByText("demo", { exact: false }).first()).toBeVisible();
  await expect
    .poll(() => page.evaluate((states) => states.filter((state) => !window.shown.has(state)), STATES), {
      timeout: 120_000,
    })
    .toEqual([]);

  // The picture in the README, from the product itself, once there is some history in it.
  if (process.env.UPDATE_SCREENS === "1") {
    await expect
      .poll(async () => (await server.get<{ rows: unknown[] }>("transitions?limit=1000")).rows.length, {
        timeout: 300_000,
      })
      .toBeGreaterThan(100);
    await openLive(page, server.board);
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await page.screenshot({ path: "../docs/screens/panel.png", animations: "disabled" });
  }
});
