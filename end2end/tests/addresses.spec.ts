// Addresses come from bookmarks, chats and scripts, spelt in more than one way; each leads to a page that works.

import { openLive, story } from "../fixtures/board.ts";
import { act } from "../fixtures/forms.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("a breaker's page works under every spelling of its address", async ({ page, serve, upstream }) => {
  const host = await upstream();
  // Its address has brackets, which browsers and links spell differently; nobody calls it.
  const numeric = "http:[::1]:9";
  const server = await serve(
    `${SLOW_POLICY}${upstreamEntry("npm", host, "slow")}
[[upstream]]
name = "six"
url = "http://[::1]:9"
allow_private = true
`,
  );
  const wrong: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(error.message));
  const addresses = [host.breaker, numeric].flatMap((id) => [
    `${server.board}/breakers/${encodeURIComponent(id)}`,
    `${server.board}/breakers/${encodeURI(id)}`,
    `${server.board}/breakers/${id}`,
  ]);
  const actions = page.getByRole("region", { name: "Actions" });
  for (const address of addresses) {
    await openLive(page, address);
    await actions.getByRole("link", { name: "Force open", exact: true }).click();
    await expect(actions.getByRole("heading", { name: "Force open", exact: true }), address).toBeVisible();
    await actions.getByRole("link", { name: "Reset", exact: true }).click();
    await expect(actions.getByRole("heading", { name: "Reset", exact: true }), address).toBeVisible();
    await actions.getByRole("link", { name: "Cancel" }).click();
    await expect(actions.getByRole("heading"), address).toHaveCount(0);
  }
  await openLive(page, `${server.board}/breakers/${encodeURIComponent(host.breaker)}?range=6h`);
  await act(page, "Force open", { name: "ana", reason: "maintenance", end: "1 h" });
  await expect(story(page)).toContainText("forced open");
  await expect(page.getByRole("status").filter({ hasText: "Forced open." })).toBeVisible();
  await expect(page, "the range is kept").toHaveURL(/range=6h/);
  expect(wrong).toEqual([]);
});

test("a name is copied as it is written", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  for (const url of [server.board, server.breakerPage(host.breaker)]) {
    await page.goto(url);
    const copied = await page.getByTitle(host.breaker, { exact: true }).evaluate((name) => {
      for (const folded of document.querySelectorAll("details")) folded.open = true;
      getSelection()?.selectAllChildren(name);
      return getSelection()?.toString();
    });
    expect(copied).toBe(host.breaker);
  }
});
