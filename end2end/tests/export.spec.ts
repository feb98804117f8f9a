// An incident is carried away in every format and says what the API says; the page among them needs nothing but itself.

import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect, SLOW_POLICY, type Server, test, upstreamEntry } from "../fixtures/server.ts";

interface Incident {
  id: number;
  breaker: string;
  start: string;
  end: string | null;
  last_seq: number | null;
  down_ms: number;
  calls_failed: number;
  calls_refused: number;
}

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

/** Follows a link as somebody who wants the file does; where it was saved, and as what. */
async function saved(page: Page, address: string): Promise<{ file: string; name: string; text: string }> {
  const coming = page.waitForEvent("download");
  await page.evaluate((address) => {
    const link = document.createElement("a");
    link.href = address;
    document.body.append(link);
    link.click();
    link.remove();
  }, address);
  const download = await coming;
  expect(await download.failure()).toBeNull();
  const name = download.suggestedFilename();
  const file = test.info().outputPath(name);
  await download.saveAs(file);
  return { file, name, text: await readFile(file, "utf8") };
}

/** RFC 4180. */
function sheet(text: string): Record<string, string>[] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n"]*))(,|\r\n|$)/g)) {
    if (end === "" && quoted === undefined && plain === "") break;
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end === "\r\n") rows.push([]);
  }
  const [head, ...cells] = rows.filter((row) => row.length > 0);
  return cells.map((row) => Object.fromEntries(row.map((cell, nth) => [head![nth], cell])));
}

test("an incident of the demo is exported in each format and says what the API says", async ({
  page,
  browser,
  demo,
}) => {
  test.setTimeout(180_000);
  const server = await demo();
  const incident = await overIncident(server);
  await page.goto(server.board);
  // Between its start and its end this breaker had no other.
  const range = `what=incidents&breaker=${incident.breaker}&from=${incident.start}&to=${incident.end}`;
  const exported = (format: string) => saved(page, `/api/v1/export?${range}&format=${format}`);

  const detail = await server.get<Incident>(`incidents/${incident.id}`);
  const json = await exported("json");
  expect(json.name).toMatch(new RegExp(`^fuseboard-demo-incidents-${incident.breaker}-\\d{8}T\\d{6}Z-\\d{8}T\\d{6}Z\\.json$`));
  const whole = JSON.parse(json.text);
  expect(whole.rows).toEqual([detail]);
  expect(whole.end).toEqual({ rows: 1, in_force_at_from: 0, last_seq: incident.id });

  const lines = (await exported("ndjson")).text.trimEnd().split("\n").map((line) => JSON.parse(line));
  expect(lines.slice(1, -1)).toEqual([detail]);

  const rows = sheet((await exported("csv")).text);
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({
    id: String(detail.id),
    breaker: detail.breaker,
    start_utc: detail.start,
    end_utc: detail.end,
    last_seq: String(detail.last_seq),
    down_ms: String(detail.down_ms),
    calls_failed: String(detail.calls_failed),
    calls_refused: String(detail.calls_refused),
  });

  const calendar = (await exported("ics")).text.replaceAll("\r\n ", "");
  expect(calendar.match(/^BEGIN:VEVENT\r$/gm)).toHaveLength(1);
  const stamp = (time: string) => time.replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
  expect(calendar).toContain(`DTSTART:${stamp(detail.start)}\r\n`);
  expect(calendar).toContain(`DTEND:${stamp(detail.end!)}\r\n`);

  const began = `${detail.start.slice(0, 19).replace("T", " ")} UTC`;
  const markdown = (await exported("md")).text;
  expect(markdown).toContain(`## ${detail.id}: ${detail.breaker} was down for `);
  expect(markdown).toContain(`- **Began:** ${began}\n`);
  expect(markdown).toContain(`- **Calls refused:** ${detail.calls_refused.toLocaleString("en")}\n`);

  const html = await exported("html");
  // From disk, without a network and without script.
  const offline = await browser.newContext({ offline: true, javaScriptEnabled: false });
  const report = await offline.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  report.on("request", (request) => asked.push(request.url()));
  report.on("console", (message) => complaints.push(message.text()));
  const address = `file://${html.file}`;
  await report.goto(address);
  const article = report.locator(`#incident-${detail.id}`);
  await expect(article.getByRole("heading", { level: 2 })).toContainText(`${detail.breaker} was down for`);
  await expect(article.locator("dl > div", { hasText: "Began" })).toContainText(began);
  await expect(article.locator("dl > div", { hasText: "Calls refused" })).toContainText(
    detail.calls_refused.toLocaleString("en"),
  );
  expect(await article.locator("svg.lane rect").count()).toBeGreaterThan(1);
  await expect(article.getByRole("img", { name: new RegExp(`^${detail.breaker}: open `) })).toBeVisible();
  expect(asked).toEqual([address]);
  expect(complaints).toEqual([]);
  await offline.close();
});

test("a reload in the middle of an export leaves nothing behind", async ({ page, serve, upstream }) => {
  test.setTimeout(180_000);
  const host = await upstream();
  const server = await serve(SLOW_POLICY + upstreamEntry("npm", host, "slow"));
  // A record too long to be under way all at once.
  const rows = 4_000;
  const hold = async (nth: number) => {
    const body = { mode: "forced_open", reason: "€".repeat(490) + nth, until: null, by: "ana" };
    expect((await server.send("PUT", `breakers/${host.breaker}/override`, body)).status).toBe(200);
  };
  for (let nth = 0; nth < rows; nth += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, one) => hold(nth + one)));
  }
  await page.goto(server.board);
  for (let nth = 0; nth < 6; nth += 1) {
    await page.evaluate(async () => {
      const answer = await fetch("/api/v1/export?what=transitions&format=ndjson");
      await answer.body!.getReader().read();
    });
    await page.reload();
  }
  await page.goto(server.board);
  const last = (await (await fetch(`${server.board}/api/v1/export?what=transitions&format=ndjson`)).text())
    .trimEnd()
    .split("\n")
    .at(-1)!;
  expect(JSON.parse(last).end.rows).toBe(rows);
  // It ends in order: nobody is waited for until the patience with open connections is over.
  await server.stop();
  expect(server.printed).not.toContain("cut off");
});
