// The reference pictures under docs/screens, of the real board in both themes: UPDATE_SCREENS=1 make e2e ARGS=screens. Without
// that they are not taken, but the same situations are looked at: the signs of neighbouring states must differ without colour.

import type { Page } from "@playwright/test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openLive, row } from "../fixtures/board.ts";
import { contrast, seen } from "../fixtures/colours.ts";
import { expect, QUICK_POLICY, SLOW_POLICY, test, upstreamEntry, type Server } from "../fixtures/server.ts";
import { Cable } from "../fixtures/wire.ts";

const THEMES = ["light", "dark"] as const;
const UPDATE = process.env.UPDATE_SCREENS === "1";

async function picture(page: Page, name: string): Promise<void> {
  if (!UPDATE) return;
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.screenshot({ path: `../docs/screens/${name}-${colorScheme}.png`, animations: "disabled" });
  }
}

async function hold(server: Server, id: string, mode: string, until: number | null): Promise<void> {
  const end = until === null ? { until } : { for_ms: until };
  const command = { mode, reason: "CDN move", by: "ana", ...end };
  expect((await server.send("PUT", `breakers/${encodeURIComponent(id)}/override`, command)).status).toBe(200);
}

test("calm", async ({ page, serve, upstream }) => {
  const hosts = [await upstream(), await upstream(), await upstream()];
  const names = ["npm", "pip", "cargo"];
  const server = await serve(SLOW_POLICY + hosts.map((host, nth) => upstreamEntry(names[nth] ?? "", host, "slow")).join(""));
  for (const name of names) await server.call(name);
  await openLive(page, server.board);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("All 3 hosts closed: traffic flows.");
  await picture(page, "calm");
});

test("outage, phone and wall", async ({ page, serve, upstream }) => {
  const hosts = await Promise.all(Array.from({ length: 7 }, () => upstream()));
  const names = ["npm", "pip", "cargo", "docker", "maven", "debian", "internal"];
  const server = await serve(
    QUICK_POLICY +
      SLOW_POLICY +
      hosts.map((host, nth) => upstreamEntry(names[nth] ?? "", host, nth === 3 ? "quick" : "slow")).join(""),
  );
  for (const name of names) await server.call(name);
  for (const nth of [0, 1, 3]) hosts[nth]?.fail(503);
  for (const name of ["npm", "pip", "docker"]) for (let call = 0; call < 2; call++) await server.call(name);
  await hold(server, hosts[2]?.breaker ?? "", "forced_open", null);
  await hold(server, hosts[4]?.breaker ?? "", "forced_closed", 3_600_000);
  const probed = hosts[3];
  if (!probed) throw new Error("seven hosts");
  await expect.poll(async () => (await server.breaker(probed.breaker)).probe_due).toBe(true);
  probed.hang();
  const probe = server.call("docker");
  await expect.poll(async () => (await server.breaker(probed.breaker)).state).toBe("half_open");

  await openLive(page, server.board);
  await expect(row(page, probed.breaker)).toContainText("half-open");
  await picture(page, "outage");

  // Neighbouring signs differ by 3:1 in luminance, also for those who see fewer colours, and on paper.
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme });
    const fills = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      return Object.fromEntries(
        ["--surface", "--open", "--half", "--held", "--closed"].map((name) => [name, style.getPropertyValue(name).trim()]),
      );
    });
    const of = (name: string) => fills[name] ?? "";
    for (const vision of ["full", "grey", "protan", "deutan", "tritan"] as const) {
      for (const [one, other] of [
        ["--open", "--surface"],
        ["--open", "--half"],
        ["--half", "--surface"],
        ["--held", "--surface"],
        ["--closed", "--surface"],
      ] as const) {
        const ratio = contrast(seen(of(one), vision), seen(of(other), vision));
        expect(ratio, `${one} beside ${other}, ${colorScheme}, ${vision}`).toBeGreaterThanOrEqual(3);
      }
    }
  }

  await page.setViewportSize({ width: 1920, height: 1080 });
  await page.goto(`${server.board}/?wall`);
  await expect(page.locator(".tile")).toHaveCount(6);
  await expect(page.locator(".wall")).toContainText("live");
  const smallest = await page.locator(".wall").evaluate((wall) => {
    const texts = [...wall.querySelectorAll<HTMLElement>(".tile *, .wall-foot *")].filter((one) => one.childElementCount === 0);
    return Math.min(...texts.filter((one) => one.textContent && one.tagName !== "use").map((one) => Number.parseFloat(getComputedStyle(one).fontSize)));
  });
  expect(smallest, "read from five metres").toBeGreaterThanOrEqual(20);
  await picture(page, "wall");

  await page.setViewportSize({ width: 360, height: 780 });
  await openLive(page, server.board);
  await picture(page, "phone");
  await probed.heal();
  await probe;
});

test("breaker and incident", async ({ page, serve, upstream }) => {
  const host = await upstream();
  const server = await serve(QUICK_POLICY + upstreamEntry("npm", host));
  for (let call = 0; call < 20; call++) await server.call("npm", `package-${call}`);
  host.fail(503, { "retry-after": "2" });
  // It trips, and three probes find it down.
  const attempt = async () => {
    await server.call("npm", "lodash");
    return (await server.get<{ attempt: number }>(`breakers/${encodeURIComponent(host.breaker)}`)).attempt;
  };
  await expect.poll(attempt, { timeout: 30_000 }).toBeGreaterThanOrEqual(3);
  await host.heal();
  const flows = async () => {
    await server.call("npm", "lodash");
    return (await server.breaker(host.breaker)).state;
  };
  await expect.poll(flows, { timeout: 30_000 }).toBe("closed");
  host.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm", call === 0 ? "react" : "lodash?token=secret");

  // It takes effect first and is written then.
  const kind = async () => ((await server.rows("transitions", host.breaker))[0]?.cause as { kind?: string }).kind;
  await expect.poll(kind).toBe("tripped");
  const [opened] = await server.rows("transitions", host.breaker);
  const to = Date.parse(opened?.at ?? "") + 10_000;
  const at = (ms: number) => new Date(ms).toISOString().slice(0, 19) + "Z";
  await openLive(page, `${server.breakerPage(host.breaker)}?from=${at(to - 40_000)}&to=${at(to)}`);
  const slider = page.getByRole("slider");
  await slider.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("PageUp");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "Evidence" })).toContainText("2 deciding calls:");
  await expect(page.locator(".probe.is-bad").first()).toBeVisible();
  await picture(page, "breaker");

  const { rows } = await server.get<{ rows: { id: number }[] }>("incidents?open=false");
  await page.goto(`${server.board}/incidents/${rows[0]!.id}`);
  await expect(page.locator(".incident-over")).toHaveText("over");
  await expect(page.locator(".probe.is-good").first()).toBeVisible();
  await picture(page, "incident");
});

test("first run", async ({ page, serve }) => {
  const server = await serve("");
  await openLive(page, server.board);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("No upstream yet.");
  await expect(page.getByText(`npm config set registry ${server.gateway}/npm/`)).toBeVisible();
  await picture(page, "first-run");
});

test("stale", async ({ page, serve, upstream }) => {
  const [npm, pip] = [await upstream(), await upstream()];
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", npm, "slow") + upstreamEntry("pip", pip, "slow"));
  await server.call("pip");
  npm.fail(503);
  for (let call = 0; call < 2; call++) await server.call("npm");
  const cable = await Cable.to(server.board);
  await openLive(page, cable.url);
  cable.pull();
  await expect(page.locator("body.is-stale")).toHaveCount(1, { timeout: 20_000 });
  await picture(page, "stale");
  await cable.stop();
});

// The lock on the store is taken with Python, which not every machine has; what the board says is tested with its pages.
if (UPDATE) {
  test("store in trouble", async ({ page, serve, upstream }) => {
    const host = await upstream();
    const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
    await server.call("npm");
    await openLive(page, server.board);
    const lock = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('BEGIN EXCLUSIVE'); print('held', flush=True); input()";
    const holder = spawn("python3", ["-c", lock, server.store], { stdio: ["pipe", "pipe", "inherit"] });
    await once(holder.stdout, "data");
    host.fail(503);
    for (let call = 0; call < 2; call++) await server.call("npm");
    const said = page.getByRole("status").filter({ hasText: /^History not written since .*\. Breakers still work\./ });
    await expect(said).toBeVisible({ timeout: 40_000 });
    await picture(page, "store-in-trouble");
    holder.stdin.end();
    await once(holder, "exit");
  });
}
