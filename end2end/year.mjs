// A year of history in a browser: node year.mjs FUSEBOARD STORE [FOLDER]. Prints the lines of the table in
// docs/performance.md for a store that `cargo xtask seed-history` wrote: first paint of the panel in each range, each
// step of zooming in, the incidents and a breaker's page; pictures go into FOLDER. The store gets a run of its own on top.
// Figures belong to a machine; nothing here is asserted.

import { chromium } from "@playwright/test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const [, , fuseboard, store, pictures] = process.argv;
if (!fuseboard || !store) throw new Error("usage: node year.mjs FUSEBOARD STORE [FOLDER]");

const RANGES = ["1y", "30d", "7d", "24h", "6h", "1h", "15m"];
const ROUNDS = 3;

async function serve() {
  const folder = await mkdtemp(path.join(tmpdir(), "fuseboard-year-"));
  const child = spawn(path.resolve(fuseboard), ["serve"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      RUST_LOG: "error",
      FUSEBOARD_GATEWAY__LISTEN: "127.0.0.1:0",
      FUSEBOARD_ADMIN__LISTEN: "127.0.0.1:0",
      FUSEBOARD_STORE__URL: `sqlite:${path.resolve(store)}`,
    },
  });
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => (child.kill(), process.exit(1)));
  let said = "";
  let board;
  for await (const data of child.stdout) {
    said += data;
    board = /^board\s+(http\S+)/m.exec(said)?.[1];
    if (board) break;
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
    await rm(folder, { recursive: true, force: true });
  };
  return { board: `${board.replace(/\/$/, "")}/`, stop };
}

const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
if (process.getuid?.() === 0) flags.push("--no-sandbox");

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = (value) => `${value.toFixed(0)} ms`;
const kB = (bytes) => `${Math.round(bytes / 1000)} kB`;
const row = (what, ...figures) => console.log(`| ${[what, ...figures].join(" | ")} |`);

/** Opens an address with an empty cache: until the answer was there, the first paint, until it runs; and its bytes. */
async function open(browser, address, picture) {
  const runs = [];
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "Europe/Berlin" });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(address);
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    // Pages that are only read have nothing that runs.
    await page.waitForFunction(() => document.readyState === "complete");
    const times = await page.evaluate(() => {
      const [answer] = performance.getEntriesByType("navigation");
      const [paint] = performance.getEntriesByName("first-contentful-paint");
      return { answer: answer.responseEnd, paint: paint.startTime, html: answer.decodedBodySize };
    });
    runs.push({ ...times, bytes });
    if (picture && pictures && round === 0) {
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
      await page.screenshot({ path: path.join(pictures, `${picture}.png`) });
    }
    await context.close();
  }
  const of = (name) => median(runs.map((run) => run[name]));
  return { answer: of("answer"), paint: of("paint"), bytes: of("bytes"), html: of("html") };
}

/** Clicks from range to range as somebody does who looks for something: from the click to the frame that shows the lanes. */
async function zoom(browser, board) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${board}?range=${RANGES[0]}`);
  await page.waitForFunction(() => document.body.classList.contains("is-running"));
  const took = [];
  for (const range of RANGES.slice(1)) {
    const answered = page.waitForResponse((response) => response.url().includes("/ui/panel?"));
    const clicked = await page.evaluate((range) => {
      const chips = [...document.querySelectorAll("a[href*='range=']")];
      const chip = chips.find((chip) => new URL(chip.href).searchParams.get("range") === range);
      const clicked = performance.now();
      chip.click();
      return clicked;
    }, range);
    const response = await answered;
    await response.finished();
    const shown = await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))),
    );
    const { responseStart, requestStart } = response.request().timing();
    took.push({ range, whole: shown - clicked, answer: responseStart - requestStart });
  }
  await context.close();
  return took;
}

if (pictures) await mkdir(pictures, { recursive: true });
const server = await serve();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
const api = async (address) => (await fetch(`${server.board}api/v1/${address}`)).json();
const [breaker] = (await api("breakers?limit=1")).breakers;
const [incident] = (await api("incidents?limit=1")).rows;

console.log("| page | answer | first paint | over the wire |\n| --- | ---: | ---: | ---: |");
const pages = [
  ...RANGES.map((range) => [`panel, ${range}`, `?range=${range}`, `panel-${range}`]),
  ["incidents", "incidents", "incidents"],
  [`an incident`, `incidents/${incident.id}`, "incident"],
  ...RANGES.map((range) => [
    `a breaker, ${range}`,
    `breakers/${encodeURIComponent(breaker.id)}?range=${range}`,
    `breaker-${range}`,
  ]),
];
for (const [what, address, picture] of pages) {
  const { answer, paint, bytes } = await open(browser, server.board + address, picture);
  row(what, ms(answer), ms(paint), kB(bytes));
}
console.log("\n| zooming in to | server | until it is drawn |\n| --- | ---: | ---: |");
for (const { range, answer, whole } of await zoom(browser, server.board)) row(range, ms(answer), ms(whole));
await browser.close();
await server.stop();
