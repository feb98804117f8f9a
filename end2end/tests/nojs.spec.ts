// A locked-down browser, or wasm that did not load: pages and plain forms are enough to act.

import { readFile } from "node:fs/promises";
import { row, story, WORDS } from "../fixtures/board.ts";
import { act } from "../fixtures/forms.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test.use({ javaScriptEnabled: false });

test("panel, breaker, reset and override work without JavaScript", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  host.fail(503);
  expect(await server.call("npm")).toBe(503);
  expect(await server.call("npm")).toBe(503);
  await host.heal();

  await page.goto(server.board);
  await expect(row(page, host.breaker)).toContainText(WORDS.open);
  await row(page, host.breaker).getByRole("link").first().click();
  await expect(page).toHaveURL(/\/breakers\//);
  await expect(page.getByRole("heading", { level: 1 }).getByTitle(host.breaker, { exact: true })).toBeVisible();

  await act(page, "Reset", { name: "ana", reason: "no script here" });
  await expect(story(page)).toContainText(WORDS.closed);
  expect(await server.call("npm")).toBe(200);

  await act(page, "Force open", { name: "ana", reason: "maintenance", end: "1 h" });
  await expect(story(page)).toContainText("forced open");
  await expect(story(page)).toContainText("maintenance");
  expect(await server.call("npm")).toBe(503);

  await act(page, "Release", { name: "ana", reason: "done" });
  await expect(story(page)).toContainText(WORDS.closed);
  expect(await server.call("npm")).toBe(200);
});

test("a refused form comes back as it was filled in", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  await page.goto(server.breakerPage(host.breaker));
  // A blank reason passes the browser's own check.
  await act(page, "Force closed", { name: "ana", reason: " ", end: "4 h" });
  const actions = page.getByRole("region", { name: "Actions" });
  await expect(actions).toContainText("Say why");
  await expect(actions.getByLabel("Your name")).toHaveValue("ana");
  await expect(actions.getByLabel("4 h", { exact: true })).toBeChecked();
  expect(await server.rows("audit", host.breaker)).toEqual([]);

  await actions.getByLabel("Reason").fill("a 500 is better than nothing");
  await actions.getByRole("button", { name: "Force closed", exact: true }).click();
  await expect(story(page)).toContainText("forced closed");
  const [entry] = await server.rows("audit", host.breaker);
  expect(entry).toMatchObject({ actor: { name: "unverified: ana" }, reason: "a 500 is better than nothing" });
});

test("the record is carried away without JavaScript", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  host.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  await page.goto(server.board);
  await page.getByRole("link", { name: "Incidents", exact: true }).click();
  await expect(page.locator("main")).toContainText(host.breaker);
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: /csv/i }).first().click();
  const download = await coming;
  expect(await download.failure()).toBeNull();
  const text = await readFile(await download.path(), "utf8");
  expect(text).toContain(host.breaker);
});

test("search, filter and range are plain addresses without JavaScript", async ({ page, serve, upstream }) => {
  const [down, fine] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", down, "slow") + upstreamEntry("pip", fine, "slow"));
  down.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  await page.goto(`${server.board}/?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`);
  await page.getByRole("link", { name: /^open/ }).click();
  await page.getByRole("searchbox").fill("npm");
  await page.getByRole("button", { name: "Search" }).click();
  const said = new URL(page.url()).searchParams;
  expect(Object.fromEntries(said)).toMatchObject({
    q: "npm",
    state: "open",
    from: "2026-01-01T00:00:00Z",
    to: "2026-01-02T00:00:00Z",
  });
  await expect(row(page, down.breaker)).toBeVisible();
  await expect(row(page, fine.breaker)).toHaveCount(0);
});
