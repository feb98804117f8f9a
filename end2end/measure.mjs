// What the panel costs a browser: node measure.mjs FUSEBOARD [SECONDS]. Prints the lines of the table in
// docs/performance.md: bytes of the first load, time until it can be used, input, scrolling, and what a tab keeps over a
// working day of events. Figures belong to a machine; nothing here is asserted.

import { chromium } from "@playwright/test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";

const [, , fuseboard, seconds = "60"] = process.argv;
if (!fuseboard) throw new Error("usage: node measure.mjs FUSEBOARD [SECONDS]");

const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--js-flags=--expose-gc"];
if (process.getuid?.() === 0) flags.push("--no-sandbox");

async function listen(answer) {
  const server = http.createServer((request, response) => {
    request.resume();
    response.writeHead(answer());
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function serve(count, healthy, failing) {
  const folder = await mkdtemp(path.join(tmpdir(), "fuseboard-measure-"));
  let config = `
[policy.slow]
trip = [{ failures = 1, within = "10s" }]
wait = { first = "10m", factor = 1.0, max = "10m", jitter = 0.0 }
half_open = { probes = 1, successes = 1, lease = "40s" }
`;
  for (let nth = 0; nth < count; nth++) {
    const host = nth < 10 ? failing : healthy;
    config += `[[upstream]]\nname = "service-${String(nth).padStart(4, "0")}.internal.example"\nkey = "upstream"\npolicy = "slow"\nurl = "http://127.0.0.1:${host.address().port}"\n`;
  }
  await writeFile(path.join(folder, "fuseboard.toml"), config);
  const child = spawn(path.resolve(fuseboard), ["serve", "--config", "fuseboard.toml"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      ...process.env,
      RUST_LOG: "error",
      FUSEBOARD_GATEWAY__LISTEN: "127.0.0.1:0",
      FUSEBOARD_ADMIN__LISTEN: "127.0.0.1:0",
      FUSEBOARD_STORE__URL: `sqlite:${path.join(folder, "store.db")}`,
    },
  });
  let said = "";
  let gateway, board;
  for await (const data of child.stdout) {
    said += data;
    gateway = /^gateway\s+(http\S+)/m.exec(said)?.[1];
    board = /^board\s+(http\S+)/m.exec(said)?.[1];
    if (gateway && board) break;
  }
  [gateway, board] = [gateway, board].map((address) => `${address.replace(/\/$/, "")}/`);
  for (let nth = 0; nth < count; nth++) {
    await (await fetch(`${gateway}service-${String(nth).padStart(4, "0")}.internal.example/file`)).arrayBuffer();
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
    await rm(folder, { recursive: true, force: true });
  };
  return { gateway, board, stop };
}

const row = (what, figure, budget) => console.log(`| ${what} | ${figure} | ${budget} |`);
const kB = (bytes) => `${Math.round(bytes / 1000)} kB`;
const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Bytes over the wire and time until the page runs, with an empty cache; median of five. */
async function load(browser, board) {
  const runs = [];
  for (let run = 0; run < 5; run++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    let bytes = 0;
    const stream = new Set();
    session.on("Network.responseReceived", ({ requestId, response }) => {
      if (response.mimeType === "text/event-stream") stream.add(requestId);
    });
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      if (!stream.has(requestId)) bytes += encodedDataLength;
    });
    await page.addInitScript(() => {
      const look = () => {
        if (document.body?.classList.contains("is-running")) window.ran ??= performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await page.goto(board);
    await page.waitForFunction(() => window.ran !== undefined);
    runs.push({ bytes, ran: await page.evaluate(() => window.ran) });
    await context.close();
  }
  return { bytes: median(runs.map((run) => run.bytes)), ran: median(runs.map((run) => run.ran)) };
}

/** From a key to the next frame that shows it; the slowest of ten letters. */
async function input(page) {
  await page.getByRole("searchbox").focus();
  const slowest = [];
  for (const letter of "service-00") {
    await page.evaluate(() => {
      window.typed = new Promise((resolve) => {
        document.addEventListener(
          "keydown",
          () => {
            const pressed = performance.now();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - pressed)));
          },
          { once: true },
        );
      });
    });
    await page.keyboard.press(letter);
    slowest.push(await page.evaluate(() => window.typed));
  }
  return Math.max(...slowest);
}

/** Script and layout of each frame while all lanes are scrolled through. */
async function scrolling(page, context) {
  await page.evaluate(() => {
    for (const folded of document.querySelectorAll("details.rest")) folded.open = true;
  });
  await page.waitForFunction(() => document.documentElement.scrollHeight > 20_000);
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "timeTicks" });
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name) => metrics.find((metric) => metric.name === name).value;
    return (of("ScriptDuration") + of("LayoutDuration") + of("RecalcStyleDuration")) * 1000;
  };
  await page.evaluate(() => {
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({
      type: "longtask",
    });
  });
  const before = await spent();
  const frames = await page.evaluate(async () => {
    let frames = 0;
    const end = document.documentElement.scrollHeight - innerHeight;
    for (let y = 0; y < end; y += 120) {
      scrollTo(0, y);
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frames++;
    }
    return frames;
  });
  const each = ((await spent()) - before) / frames;
  return { each, frames, longest: Math.max(0, ...(await page.evaluate(() => window.tasks))) };
}

/** What the tab keeps while 8 h of 10 events a second come as fast as they are taken. */
async function day(page, context, { gateway, board }) {
  const session = await context.newCDPSession(page);
  await session.send("HeapProfiler.enable");
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return page.evaluate(() => performance.measureUserAgentSpecificMemory?.bytes ?? performance.memory.usedJSHeapSize);
  };
  const before = await heap();
  const until = Date.now() + Number(seconds) * 1000;
  let events = 0;
  // Each round is two overrides' rows with their audit rows: four events.
  const id = "service-0100.internal.example";
  while (Date.now() < until) {
    const body = JSON.stringify({ mode: "forced_open", reason: "measured", for_ms: 3_600_000, by: "measure" });
    const headers = { "content-type": "application/json" };
    await fetch(`${board}api/v1/breakers/${id}/override`, { method: "PUT", headers, body });
    await fetch(`${board}api/v1/breakers/${id}/release`, { method: "POST", headers, body: '{"reason":"measured"}' });
    events += 4;
  }
  void gateway;
  return { grown: (await heap()) - before, events };
}

const healthy = await listen(() => 200);
const failing = await listen(() => 503);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
console.log("| what | measured | budget |\n| --- | ---: | ---: |");
for (const [count, budget] of [
  [200, "300 kB"],
  [1000, "500 kB"],
]) {
  const server = await serve(count, healthy, failing);
  const { bytes, ran } = await load(browser, server.board);
  row(`first load, ${count} breakers`, kB(bytes), budget);
  row(`until it can be used, ${count} breakers`, ms(ran), count === 200 ? "1,500 ms" : "");
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(server.board);
  await page.waitForFunction(() => document.body.classList.contains("is-running"));
  if (count === 1000) {
    const { each, frames, longest } = await scrolling(page, context);
    row(`scrolling ${count} lanes, script and layout a frame (${frames} frames)`, ms(each), "8 ms");
    row("scrolling, longest task", longest ? ms(longest) : "under 50 ms", "50 ms");
    await page.evaluate(() => scrollTo(0, 0));
  }
  row(`a letter typed, slowest of ten, ${count} breakers`, ms(await input(page)), "100 ms");
  if (count === 200) {
    await page.getByRole("searchbox").fill("");
    const { grown, events } = await day(page, context, server);
    row(`heap grown after ${events} events`, `${(grown / 1e6).toFixed(1)} MB`, "50 MB");
  }
  await context.close();
  await server.stop();
}
await browser.close();
healthy.close();
failing.close();
