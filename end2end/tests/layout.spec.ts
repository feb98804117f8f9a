// With a breaker in every state all filters are offered; they stay within reach on a phone and leave the range its place.

import { openLive } from "../fixtures/board.ts";
import { expect, HALF_POLICY, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

const FILTERS = ["all", "down", "open", "latched", "half-open", "cooling down", "forced open", "forced closed", "closed"];

test("every filter and every range is in sight, on a desk and, once asked for, on a phone", async ({ page, serve, upstream }) => {
  const [fine, down, busy, slow, shut, held] = [
    await upstream(),
    await upstream(),
    await upstream(),
    await upstream(),
    await upstream(),
    await upstream(),
  ];
  const server = await serve(
    HALF_POLICY +
      SLOW_POLICY +
      upstreamEntry("fine", fine, "slow") +
      upstreamEntry("down", down, "slow") +
      upstreamEntry("busy", busy, "slow") +
      "classify = { cooldown = true }\n" +
      upstreamEntry("probed", slow, "half") +
      upstreamEntry("shut", shut, "slow") +
      upstreamEntry("held", held, "slow"),
  );
  await server.call("fine");
  down.fail(503);
  slow.fail(503);
  for (const name of ["down", "down", "probed", "probed"]) await server.call(name);
  busy.fail(429, { "retry-after": "600" });
  await server.call("busy");
  for (const [host, mode] of [
    [shut, "forced_open"],
    [held, "forced_closed"],
  ] as const) {
    const command = { mode, reason: "CDN move", until: null, by: "ana" };
    const id = encodeURIComponent(host.breaker);
    expect((await server.send("PUT", `breakers/${id}/override`, command)).status).toBe(200);
  }
  await expect.poll(async () => (await server.breaker(slow.breaker)).probe_due).toBe(true);
  await slow.heal();
  expect(await server.call("probed")).toBe(200);
  await expect.poll(async () => (await server.breaker(slow.breaker)).state).toBe("half_open");

  for (const width of [360, 800, 1280, 1600]) {
    await page.setViewportSize({ width, height: 800 });
    await openLive(page, server.board);
    const filters = page.getByRole("navigation", { name: "Filter by state" });
    const filtersSwitch = page.locator(".tools-switch");
    if (width === 360) {
      // Trouble comes first there.
      const first = await page.locator("[data-id]").first().boundingBox();
      expect((first?.y ?? 800) + 120, "the first host in trouble is in sight").toBeLessThanOrEqual(800);
      await expect(filters).toBeHidden();
      expect((await filtersSwitch.boundingBox())?.height).toBeGreaterThanOrEqual(44);
      await filtersSwitch.click();
    } else {
      await expect(filtersSwitch).toBeHidden();
    }
    await expect(filters.getByRole("link")).toHaveText(FILTERS.map((name) => new RegExp(`^${name}\\s*\\d+$`)));
    const ranges = page.getByRole("navigation", { name: "How far back" });
    const tops = new Set<number>();
    for (const link of [...(await filters.getByRole("link").all()), ...(await ranges.getByRole("link").all())]) {
      const box = await link.boundingBox();
      const seen = await link.evaluate((chip) => {
        const { left, right, top, bottom } = chip.getBoundingClientRect();
        return [left + 2, right - 2].every((x) => chip.contains(document.elementFromPoint(x, (top + bottom) / 2)));
      });
      expect(seen, `${await link.innerText()} at ${width} px`).toBe(true);
      expect(box?.height, "a finger finds it").toBeGreaterThanOrEqual(width === 360 ? 44 : 24);
    }
    for (const link of await ranges.getByRole("link").all()) tops.add((await link.boundingBox())?.y ?? -1);
    expect(tops.size, `the range is one line at ${width} px`).toBe(1);
    if (width >= 1280) {
      const lines = new Set<number>();
      for (const link of await filters.getByRole("link").all()) lines.add((await link.boundingBox())?.y ?? -1);
      expect(lines.size, `the filters are one line at ${width} px`).toBe(1);
    }
    if (width >= 800) {
      const search = await page.getByRole("searchbox").boundingBox();
      expect([...tops][0], `the range stands beside the search at ${width} px`).toBe(search?.y);
    }
  }
});
