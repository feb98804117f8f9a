// Nothing is configured yet: the board says what to do, and changes by itself once it is done.

import { expectLive, openLive, row, WORDS } from "../fixtures/board.ts";
import { expect, test } from "../fixtures/server.ts";

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
  const { host: target } = new URL(server.gateway);
  const clients = [
    ["npm", "npm", `npm config set registry ${server.gateway}/npm/`],
    ["pip", "pip", `pip config set global.index-url ${server.gateway}/pypi/simple/`],
    ["cargo", "cargo", `registry = "sparse+${server.gateway}/cargo/"`],
    ["Maven", "settings.xml", `<url>${server.gateway}/maven/</url>`],
    ["any HTTP host", "curl", `curl ${server.gateway}/files/`],
    ["a gRPC service", "target", target],
  ] as const;
  const copied = async (name: string) => {
    await page.getByRole("button", { name: `Copy ${name}`, exact: true }).click();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  let config = "";
  for (const [kind, client, line] of clients) {
    await page.getByRole("radio", { name: kind, exact: true }).check();
    config += await copied("upstream");
    expect(await copied("reload")).toMatch(/^kill -HUP/);
    expect(await copied(client)).toContain(line);
    await expect(page.getByRole("button", { name: /^Copy/ })).toHaveCount(3);
  }

  // What was copied is taken as it is, but for the address.
  await server.reload(config.replace("https://registry.example", host.url));
  await expect(row(page, host.breaker)).toContainText(WORDS.waiting);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Nothing called yet; 6 hosts waiting for the first call.");
  // What is still to do stays until it is done.
  const steps = page.getByRole("region", { name: "First steps" });
  await expect(steps.getByRole("button", { name: /^Copy/ })).toHaveCount(1);
  await expect(steps).toContainText("Point a client at this gateway");
  const late = await context.newPage();
  await openLive(late, server.board);
  await expect(late.getByRole("radio"), "whoever comes only now is told the same, of what there is").toHaveCount(6);
  await late.close();
  await page.getByRole("radio", { name: "npm", exact: true }).check();
  expect(await copied("npm")).toBe(`npm config set registry ${server.gateway}/npm/`);
  expect(await server.call("npm")).toBe(200);
  await expect(steps).toBeHidden();
  await expect(row(page, host.breaker)).toContainText(WORDS.closed);
  await expect(page.locator("html")).toHaveAttribute("data-first-load", "");
  await expectLive(page);
});
