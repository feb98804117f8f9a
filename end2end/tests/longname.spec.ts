// Names and reasons come from outside and may be as long as they are let; a row stays a row, and no page scrolls sideways.

import { openLive } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("a host name of 200 characters keeps its domain and port, and is there in full for who asks", async ({
  context,
  page,
  serve,
  upstream,
}) => {
  const host = await upstream();
  const labels = `${"packages-".repeat(7).slice(0, 60)}.${"mirror-".repeat(9).slice(0, 60)}.${"europe-".repeat(9).slice(0, 58)}.registry.example`;
  expect(labels.length).toBe(197);
  const id = `http:${labels}:8443`;
  const server = await serve(
    `${SLOW_POLICY}${upstreamEntry("npm", host, "slow")}
[[upstream]]
name = "long"
url = "http://${labels}:8443"
policy = "slow"
[[upstream]]
name = "buecher"
url = "http://xn--bcher-kva.example"
policy = "slow"
`,
  );
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await openLive(page, server.board);
    const row = page.locator(`[data-id="${id}"]`);
    await expect(row.locator(".tail")).toHaveText(".registry.example:8443");
    const tail = await row.locator(".tail").evaluate((tail) => tail.scrollWidth <= tail.clientWidth + 1);
    expect(tail, `domain and port are in sight at ${width} px`).toBe(true);
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(sideways, `${width} px`).toBeLessThanOrEqual(0);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  // Read in full by keyboard, over what stands beside it.
  const high = () => page.locator(".row").evaluateAll((rows) => rows.map((row) => row.clientHeight));
  const before = await high();
  await page.locator(`[data-id="${id}"] .c-host a`).focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  const name = page.locator(`[data-id="${id}"] .host-name`);
  const all = await name.evaluate((name) => name.scrollHeight <= name.clientHeight && name.scrollWidth <= name.clientWidth);
  expect(all, "all of it is in sight").toBe(true);
  expect(await high()).toEqual(before);
  await page.keyboard.press("Tab");
  const heights = await page.locator(".row").evaluateAll((rows) => rows.map((row) => row.clientHeight));
  expect(new Set(heights).size, `rows are equally high: ${heights.join()}`).toBe(1);

  const row = page.locator(`[data-id="${id}"]`);
  await row.getByRole("button", { name: /^More about/ }).click();
  await expect(row.locator("code")).toHaveText(id);
  await row.getByRole("button", { name: "copy" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(id);
  await expect(page.locator('[data-id="http:xn--bcher-kva.example"]')).toContainText("bücher.example");
});

/** What is drawn of a part of a name: its text, and whether all of it is in sight within its row. */
const SHAPES = {
  "http://a.very.long.name.of.a.mirror.files-registry.example:8443": { domain: ".files-registry.example", port: ":8443" },
  "http://xn--bchermnchenerkindervonheute-i3cf.example": { domain: ".example", port: "" },
  "http://the-longest-label-a-host-has-ever-had-in-this-house.example:9443": { domain: ".example", port: ":9443" },
};

test("whatever is left out of a name, its domain and port are in sight and nothing is printed over", async ({ page, serve }) => {
  const entries = Object.keys(SHAPES).map((url, nth) => `[[upstream]]\nname = "u${nth}"\nurl = "${url}"\n`);
  const server = await serve(entries.join(""));
  for (const width of [360, 800, 1280, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    await openLive(page, server.board);
    for (const [url, { domain, port }] of Object.entries(SHAPES)) {
      const name = page.locator(`[data-id="${url.replace("//", "")}"] .host-name`);
      const parts = await name.evaluate((name) => {
        const { left, right, top, bottom } = name.getBoundingClientRect();
        return [...name.querySelectorAll<HTMLElement>(".scheme, .middle, .domain, .port")].map((part) => {
          const box = part.getBoundingClientRect();
          const seen = box.left >= left - 1 && box.right <= right + 1 && box.top >= top - 2 && box.bottom <= bottom + 2;
          return { kind: part.className, text: part.textContent, seen, left: box.left, right: box.right, whole: part.scrollWidth <= part.clientWidth + 1 };
        });
      });
      const seen = parts.filter((part) => part.seen);
      const said = (kind: string) => seen.find((part) => part.kind === kind && part.whole)?.text ?? "";
      expect([said("domain"), said("port")], `${url} at ${width} px`).toEqual([domain, port]);
      seen.slice(1).forEach((part, nth) => expect(part.left, `${part.kind} of ${url} at ${width} px`).toBeGreaterThanOrEqual(seen[nth]!.right - 1));
    }
  }
});

test("text without a place to break makes no page scroll sideways", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  const command = { mode: "forced_closed", reason: "x".repeat(500), until: null, by: "b".repeat(80) };
  expect((await server.send("PUT", `breakers/${encodeURIComponent(host.breaker)}/override`, command)).status).toBe(200);
  const word = "a".repeat(300);
  const id = encodeURIComponent(host.breaker);
  const paths = ["/", "/?wall", `/?q=${word}`, `/?act=release&id=${id}`, `/breakers/${id}?act=force-closed`, `/breakers/${word}`];
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const path of [...paths, "/audit", "/incidents", "/settings", `/incidents?q=${word}`, `/${word}`]) {
      await page.goto(server.board + path);
      const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(await sideways(), `${path.slice(0, 40)} at ${width} px`).toBeLessThanOrEqual(0);
      if (path !== "/") continue;
      await expect(page.locator("body.is-running")).toHaveCount(1);
      await page.getByRole("button", { name: /^More about/ }).click();
      await expect(page.locator(".c-more")).toContainText("xxx");
      expect(await sideways(), `an expanded row at ${width} px`).toBeLessThanOrEqual(0);
    }
  }
});
