// What the panel costs a browser: node measure.mjs FUSEBOARD [HOURS]. Prints the lines of the table in
// docs/performance.md: bytes of the first load, time until it can be used, input, scrolling, and what a tab keeps over a
// working day of events (0 hours leave that out). Figures belong to a machine; nothing here is asserted.

import { chromium } from "@playwright/test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";

const [, , fuseboard, hours = "8"] = process.argv;
if (!fuseboard) throw new Error("usage: node measure.mjs FUSEBOARD [HOURS]");

const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
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
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
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

/** Tabs that are all in front, each in a window of its own: one that is behind another has a frame a second. */
async function windows(browser, context, count) {
  const tabs = [await context.newPage()];
  const { targetInfo } = await (await context.newCDPSession(tabs[0])).send("Target.getTargetInfo");
  const { browserContextId } = targetInfo;
  const session = await browser.newBrowserCDPSession();
  while (tabs.length < count) {
    const opened = context.waitForEvent("page");
    await session.send("Target.createTarget", { url: "about:blank", newWindow: true, browserContextId });
    tabs.push(await opened);
  }
  return tabs;
}

/** From a change's own time to the frame that shows it, in twenty tabs at once. */
async function pixel(browser, { board }) {
  const id = "service-0000.internal.example";
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const tabs = await windows(browser, context, 20);
  for (const tab of tabs) {
    await tab.goto(board);
    await tab.waitForFunction(() => document.body.classList.contains("is-running"));
    await tab.evaluate((id) => {
      window.seen = [];
      let was = false;
      const look = () => {
        const held = document.querySelector(`[data-id="${id}"]`)?.classList.contains("is-held") ?? was;
        if (held === was) return;
        was = held;
        requestAnimationFrame(() => window.seen.push(Date.now()));
      };
      new MutationObserver(look).observe(document.querySelector(".panel"), { subtree: true, childList: true, attributes: true });
    }, id);
  }
  const headers = { "content-type": "application/json" };
  const hold = JSON.stringify({ mode: "forced_closed", reason: "measured", for_ms: 3_600_000, by: "measure" });
  const took = [];
  for (let round = 1; round <= 50; round++) {
    const answer =
      round % 2 === 1
        ? await fetch(`${board}api/v1/breakers/${id}/override`, { method: "PUT", headers, body: hold })
        : await fetch(`${board}api/v1/breakers/${id}/release`, { method: "POST", headers, body: '{"reason":"measured"}' });
    const at = Date.parse((await answer.json()).last_transition.at);
    for (const tab of tabs) {
      const seen = await tab.waitForFunction((nth) => window.seen[nth], round - 1, { timeout: 10_000, polling: 50 });
      took.push((await seen.jsonValue()) - at);
    }
  }
  await context.close();
  took.sort((a, b) => a - b);
  return { p50: took[took.length / 2], p99: took[Math.ceil(took.length * 0.99) - 1] };
}

/** The server with a feed of our own in front of it: everything but the feed is passed on. */
async function scripted(board) {
  const feeds = new Set();
  const front = http.createServer((request, response) => {
    if (request.url.startsWith("/api/v1/events")) {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      feeds.add(response);
      response.on("close", () => feeds.delete(response));
      return;
    }
    const { hostname, port } = new URL(board);
    const { url, method, headers } = request;
    const on = http.request({ hostname, port, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(on);
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  return {
    url: `http://127.0.0.1:${front.address().port}/`,
    say: (text) => feeds.forEach((feed) => feed.write(text)),
    stop: () => {
      front.closeAllConnections();
      front.close();
    },
  };
}

/** One event of each name as the server's own feed says it, after an override, a trip and its probe. */
async function samples(board, id) {
  const found = {};
  const feed = await fetch(`${board}api/v1/events`);
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ mode: "forced_open", reason: "measured", for_ms: 3_600_000, by: "measure" });
  await fetch(`${board}api/v1/breakers/${id}/override`, { method: "PUT", headers, body });
  await fetch(`${board}api/v1/breakers/${id}/release`, { method: "POST", headers, body: '{"reason":"measured"}' });
  await fetch(`${board}api/v1/breakers/service-0000.internal.example/probe`, { method: "POST", headers, body: "{}" });
  let text = "";
  for await (const part of feed.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    for (const [, name, data] of text.matchAll(/^event: ?(\w+)\n(?:id:.*\n)?data: ?(.*)\n(?:id:.*\n)?\n/gm)) found[name] ??= JSON.parse(data);
    if (["hello", "transition", "probe", "audit", "stats"].every((name) => found[name])) return found;
  }
  throw new Error(`the feed ended with ${Object.keys(found)}`);
}

/**
 * What the tab keeps while so many hours of 10 events a second come as fast as it takes them: half of them changes of
 * breakers that flap, the rest probes and audit rows, and the heartbeat, which moves the page's clock on.
 */
async function day(browser, { board }) {
  const { hello, transition, probe, audit, stats } = await samples(board, "service-0100.internal.example");
  const front = await scripted(board);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    // The page's clock goes with the heartbeats; they come last of what is said together, and are counted.
    const clock = Date.now.bind(Date);
    let ahead = 0;
    Date.now = () => clock() + ahead;
    window.beats = 0;
    window.told = (beats) => new Promise((resolve) => {
      window.wait = () => window.beats >= beats && resolve();
      window.wait();
    });
    window.EventSource = class extends EventSource {
      addEventListener(name, hear) {
        super.addEventListener(name, hear);
        if (name !== "stats") return;
        super.addEventListener(name, ({ data }) => {
          ahead = Date.parse(JSON.parse(data).now) - clock();
          window.beats++;
          window.wait?.();
        });
      }
    };
    const start = WebAssembly.instantiateStreaming;
    WebAssembly.instantiateStreaming = async (...module) => {
      const made = await start(...module);
      window.wasm = made.instance.exports.memory;
      return made;
    };
  });
  let now = Date.now();
  await page.goto(front.url);
  await page.waitForFunction(() => document.body.classList.contains("is-running"));
  const session = await context.newCDPSession(page);
  const kept = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const { nodes } = await session.send("Memory.getDOMCounters");
    return { script: usedSize, wasm: await page.evaluate(() => window.wasm.buffer.byteLength), nodes };
  };
  const [boot, first] = hello.cursor.split("-");
  let [seq, beats] = [Number(first), 0];
  const time = () => new Date(now).toISOString().replace("Z", "000Z");
  const event = (name, data, id) => `event: ${name}\n${id ? `id: ${boot}-${id}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
  const STATES = ["closed", "open", "half_open"];
  const fact = () => {
    seq++;
    const breaker = `service-${String(20 + (seq % 7)).padStart(4, "0")}.internal.example`;
    const base = { seq, breaker, at: time() };
    if (seq % 10 >= 8) return event("audit", { ...audit, ...base }, seq);
    if (seq % 10 >= 5) return event("probe", { ...probe, ...base }, seq);
    const [from, to] = [STATES[seq % 3], STATES[(seq + 1) % 3]];
    const down = to === "closed" ? null : time();
    const probing = { next_probe_at: to === "open" ? time() : null, down_since: down, opens: seq };
    const after = { ...transition.after, ...probing, since: time(), override: null };
    return event("transition", { ...transition, ...base, after, from, to, generation: seq, override: null }, seq);
  };
  const beat = () => event("stats", { ...stats, now: time() });
  front.say(event("hello", { ...hello, now: time() }));
  let before;
  const facts = Number(hours) * 36_000;
  const BEAT_MS = 2_000;
  const started = performance.now();
  for (let said = 0; said < facts; ) {
    // A minute at a time, so that nothing waits in a socket for long.
    for (let beat_of_minute = 0; beat_of_minute < 30; beat_of_minute++) {
      let text = "";
      for (let nth = 0; nth < BEAT_MS / 100; nth++, said++) text += fact();
      now += BEAT_MS;
      front.say(text + beat());
      beats++;
    }
    await page.evaluate((beats) => window.told(beats), beats);
    // A page has read everything it needs after its first minute.
    before ??= await kept();
  }
  const after = await kept();
  const shown = await page.locator(".row").count();
  const fresh = await page.locator(".fresh").innerText();
  await context.close();
  front.stop();
  return { before, after, facts, shown, fresh, took: (performance.now() - started) / 1000 };
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
  await context.close();
  if (count === 200) {
    const { p50, p99 } = await pixel(browser, server);
    row("a change until its frame, 20 tabs, 200 breakers, p50 and p99", `${ms(p50)} and ${ms(p99)}`, "200 ms");
  }
  await server.stop();
}
if (Number(hours) > 0) {
  const server = await serve(200, healthy, failing);
  const { before, after, facts, shown, fresh, took } = await day(browser, server);
  const MB = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  row(`heap after ${facts.toLocaleString("en")} events (${hours} h, played in ${took.toFixed(0)} s)`, MB(after.script + after.wasm), "50 MB");
  row("of it grown since the first minute, script and wasm", `${MB(after.script - before.script)} and ${MB(after.wasm - before.wasm)}`, "");
  row("nodes of the page, then and after", `${before.nodes} and ${after.nodes}`, "");
  if (fresh !== "live" || shown < 10) throw new Error(`the tab did not follow: ${fresh}, ${shown} rows`);
  await server.stop();
}
await browser.close();
healthy.close();
failing.close();
