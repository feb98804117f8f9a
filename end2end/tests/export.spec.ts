// An incident is found on the board and carried away in every format, and each file says what the API says; the page among
// them needs nothing but itself.

import { expectAccessible } from "../fixtures/a11y.ts";
import { openLive } from "../fixtures/board.ts";
import { calendar, downIn, rendered, saved, sheet, type Incident } from "../fixtures/files.ts";
import { expect, SLOW_POLICY, type Server, test, upstreamEntry } from "../fixtures/server.ts";

/** The first incident of the demo that is over. */
async function overIncident(server: Server): Promise<Incident> {
  let found: Incident | undefined;
  await expect
    .poll(
      async () => {
        const { rows } = await server.get<{ rows: Incident[] }>("incidents?open=false&limit=1000");
        found = rows.at(-1);
        return found?.id ?? 0;
      },
      { message: "an incident that is over", timeout: 90_000 },
    )
    .toBeGreaterThan(0);
  return found!;
}

test("an incident of the demo is found on the board and exported in each format", async ({ page, browser, demo }) => {
  test.setTimeout(180_000);
  const server = await demo();
  const incident = await overIncident(server);

  await openLive(page, server.board);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Incidents" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Incidents");
  await page.locator(`.incidents a[href="/incidents/${incident.id}"]`).click();
  await expect(page).toHaveURL(`${server.board}/incidents/${incident.id}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText(incident.breaker);
  await expect(page.locator(".lead")).toContainText(/^Down for .*, from /);

  const links = page.getByRole("navigation", { name: "Export" });
  const exported = (name: string) => saved(page, links.getByRole("link", { name, exact: true }));
  const detail = await server.get<Incident>(`incidents/${incident.id}`);
  const lane = await server.get<{ from: string; to: string; at: number[]; down: number[] }>(
    `breakers/${incident.breaker}/timeline?from=${detail.start}&to=${detail.end}&width=4000`,
  );
  expect(Math.abs(downIn(lane) - detail.down_ms), "as long as the timeline's spans").toBeLessThanOrEqual(1);

  const json = await exported("JSON");
  expect(json.name).toMatch(new RegExp(`^fuseboard-demo-incidents-${incident.breaker}-\\d{8}T\\d{6}Z-\\d{8}T\\d{6}Z\\.json$`));
  const whole = JSON.parse(json.text);
  expect(whole.rows).toEqual([detail]);
  expect(whole.end).toEqual({ rows: 1, in_force_at_from: 0, last_seq: incident.id });
  expect(whole.export).toMatchObject({ node: "demo", zone: "UTC", breaker: incident.breaker });

  const lines = (await exported("NDJSON")).text.trimEnd().split("\n").map((line) => JSON.parse(line));
  expect(lines.slice(1, -1)).toEqual([detail]);
  expect(lines.at(-1)).toEqual({ end: whole.end });

  const rows = sheet((await exported("CSV")).text);
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({
    id: String(detail.id),
    node: "demo",
    breaker: detail.breaker,
    start_utc: detail.start,
    end_utc: detail.end,
    last_seq: String(detail.last_seq),
    down_ms: String(detail.down_ms),
    calls_failed: String(detail.calls_failed),
    calls_refused: String(detail.calls_refused),
  });

  const second = (time: string) => new Date(Math.floor(Date.parse(time) / 1000) * 1000).toISOString();
  expect(calendar((await exported("calendar")).text)).toEqual([
    {
      uid: `incident-${detail.id}@demo`,
      start: second(detail.start),
      end: second(detail.end!),
      downMs: detail.down_ms,
    },
  ]);

  const began = `${detail.start.slice(0, 19).replace("T", " ")} UTC`;
  const refused = detail.calls_refused.toLocaleString("en");
  const markdown = await exported("Markdown");
  const reader = await browser.newPage();
  await rendered(reader, markdown.text);
  await expect(reader.getByRole("heading", { level: 2 }).first()).toContainText(
    `${detail.id}: ${detail.breaker} was down for `,
  );
  await expect(reader.getByText(`Began: ${began}`)).toBeVisible();
  await expect(reader.getByText(`Calls refused: ${refused}`)).toBeVisible();
  await expect(reader.locator("table").first().locator("tbody tr")).toHaveCount(1);
  await reader.close();

  // From disk, without a network and without script.
  const html = await exported("HTML page");
  const address = `file://${html.file}`;
  const offline = await browser.newContext({ offline: true, javaScriptEnabled: false });
  const report = await offline.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  report.on("request", (request) => asked.push(request.url()));
  report.on("console", (message) => complaints.push(message.text()));
  await report.goto(address);
  const article = report.locator(`#incident-${detail.id}`);
  await expect(article.getByRole("heading", { level: 2 })).toContainText(`${detail.breaker} was down for`);
  await expect(article.locator("dl > div", { hasText: "Began" })).toContainText(began);
  await expect(article.locator("dl > div", { hasText: "Calls refused" })).toContainText(refused);
  expect(await article.locator("svg.lane rect").count()).toBeGreaterThan(1);
  await expect(article.getByRole("img", { name: new RegExp(`^${detail.breaker}: open `) })).toBeVisible();
  expect(asked).toEqual([address]);
  expect(complaints).toEqual([]);
  await offline.close();

  // Everybody can read it: both themes, a desk and a phone.
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ offline: true, colorScheme });
    const read = await context.newPage();
    for (const width of [1280, 360]) {
      await read.setViewportSize({ width, height: 800 });
      await read.goto(address);
      await expectAccessible(read, `the page from disk, ${colorScheme}, ${width} px`);
      const overflow = await read.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow, `it scrolls sideways at ${width} px`).toBeLessThanOrEqual(0);
    }
    await context.close();
  }
});

test("neither a reloaded page nor a reloaded configuration harms an export under way", async ({ page, serve, upstream }) => {
  test.setTimeout(180_000);
  const [host, other] = [await upstream(), await upstream()];
  const config = SLOW_POLICY + upstreamEntry("npm", host, "slow");
  const server = await serve(config);
  // A record too long to be under way all at once.
  const rows = 4_000;
  const hold = async (nth: number) => {
    const body = { mode: "forced_open", reason: "€".repeat(490) + nth, until: null, by: "ana" };
    expect((await server.send("PUT", `breakers/${host.breaker}/override`, body)).status).toBe(200);
  };
  for (let nth = 0; nth < rows; nth += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, one) => hold(nth + one)));
  }
  const all = `${server.board}/api/v1/export?what=transitions&format=ndjson`;
  const last = (text: string) => JSON.parse(text.trimEnd().split("\n").at(-1) ?? "");

  // Somebody else's export has begun and is read slowly.
  const slow = (await fetch(all)).body!.getReader();
  const begun = await slow.read();
  await page.goto(`${server.board}/incidents`);
  for (let nth = 0; nth < 6; nth += 1) {
    await page.evaluate(async () => {
      const answer = await fetch("/api/v1/export?what=transitions&format=ndjson");
      await answer.body!.getReader().read();
    });
    await page.reload();
  }
  await server.reload(config + upstreamEntry("pip", other, "slow"));
  await expect
    .poll(async () => (await server.get<{ upstreams: { name: string }[] }>("config")).upstreams.map((one) => one.name))
    .toEqual(["npm", "pip"]);

  const chunks = [begun.value ?? new Uint8Array()];
  for (let chunk = await slow.read(); !chunk.done; chunk = await slow.read()) chunks.push(chunk.value);
  expect(chunks.length, "it was not read all at once").toBeGreaterThan(1);
  expect(last(Buffer.concat(chunks).toString("utf8")).end).toMatchObject({ rows, in_force_at_from: 0 });

  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Incidents");
  expect(last(await (await fetch(all)).text()).end.rows, "a reload is an action, no transition").toBe(rows);
  // It ends in order: nobody is waited for until the patience with open connections is over.
  await server.stop();
  expect(server.printed).not.toContain("cut off");
});
