// A thousand hosts: what is wrong is in sight, the rest is there when it is looked for, and only what is in sight is drawn.

import { openLive } from "../fixtures/board.ts";
import { manyUpstreams, nameOf } from "../fixtures/many.ts";
import { expect, test } from "../fixtures/server.ts";

test("a thousand breakers scroll, search and never are in the page all at once", async ({ page, serve, upstream }) => {
  const [down, fine] = [await upstream(), await upstream()];
  const server = await serve(manyUpstreams(1_000, down, fine, 3));
  down.fail(503);
  for (let nth = 0; nth < 3; nth++) for (let call = 0; call < 2; call++) await server.call(nameOf(nth));
  await server.call(nameOf(999));

  await openLive(page, server.board);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("3 hosts refused");
  const rest = page.locator("details.rest");
  await rest.locator("summary").click();
  await expect(rest.locator("summary")).toContainText("1 closed, 996 waiting for the first call");
  const rows = page.locator(".row");
  expect(await rows.count()).toBeLessThan(150);

  const last = page.locator(`[data-id="${nameOf(998)}"]`);
  await expect(last).toHaveCount(0);
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await expect(last).toBeVisible();
  await expect(last).toHaveAttribute("aria-setsize", "997");
  expect(await rows.count()).toBeLessThan(150);

  // Up to a hundred are all there, also those out of sight, for a browser's own search.
  await page.getByRole("searchbox").fill("service-01");
  await expect(rows).toHaveCount(100);
  await expect(page.locator(`[data-id="${nameOf(199)}"]`)).not.toHaveAttribute("aria-setsize");
  const order = await rows.evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
  expect(order).toEqual([...order].sort());

  await page.getByRole("searchbox").fill(nameOf(500));
  await expect(page.locator(`[data-id="${nameOf(500)}"]`)).toBeVisible();
  await expect(rows).toHaveCount(1);
});

test("without script the first hundred are there, and a link to the others", async ({ browser, serve, upstream }) => {
  const [down, fine] = [await upstream(), await upstream()];
  const server = await serve(manyUpstreams(250, down, fine, 0));
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(server.board);
  await expect(page.locator(".row")).toHaveCount(100);
  await page.getByRole("link", { name: "150 more" }).click();
  await expect(page.locator(".row")).toHaveCount(250);
  await page.close();
});
