import { chromium } from "@playwright/test";
const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
if (process.getuid?.() === 0) flags.push("--no-sandbox");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: flags });
console.log(browser.version());
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const tabs = await Promise.all(Array.from({ length: 5 }, () => context.newPage()));
import http from "node:http"; const s=http.createServer((q,r)=>{r.setHeader("content-type","text/html");r.end("<p>x")}); await new Promise(r=>s.listen(0,r)); for (const t of tabs) await t.goto("http://127.0.0.1:"+s.address().port+"/");
for (const [i,t] of tabs.entries()) {
  console.log(i, await t.evaluate(async () => {
    const out=[document.visibilityState, document.hasFocus()];
    for (let k=0;k<4;k++){ const a=performance.now(); await new Promise(r=>setTimeout(r,16)); const b=performance.now(); await new Promise(r=>requestAnimationFrame(r)); out.push([Math.round(b-a),Math.round(performance.now()-b)].join("/")); }
    return out.join(" ");
  }));
}
await new Promise(r=>setTimeout(r,12000));
for (const [i,t] of tabs.entries()) {
  console.log(i, await t.evaluate(async () => {
    const out=[document.visibilityState, document.hasFocus()];
    for (let k=0;k<4;k++){ const a=performance.now(); await new Promise(r=>setTimeout(r,16)); const b=performance.now(); await new Promise(r=>requestAnimationFrame(r)); out.push([Math.round(b-a),Math.round(performance.now()-b)].join("/")); }
    return out.join(" ");
  }));
}
await browser.close(); s.close();
