// One upstream, several hosts: metadata here, files there, mirrors behind redirects. The panel shows them as one, and says
// which part is refused.

import { openLive, row, WORDS } from "../fixtures/board.ts";
import { expect, SLOW_POLICY, test, upstreamEntry } from "../fixtures/server.ts";

test("an upstream's files and mirrors stand under its name, each with what it does", async ({ page, serve, upstream }) => {
  const [metadata, files, mirror, other] = [await upstream(), await upstream(), await upstream(), await upstream()];
  const server = await serve(
    SLOW_POLICY +
      upstreamEntry("npm", metadata, "slow") +
      `preset = "npm"
allow_private = true
rewrite = ["${files.url}"]
redirects = { follow = true, hosts = ["127.0.0.1:${mirror.port}"] }
` +
      upstreamEntry("pip", other, "slow"),
  );
  metadata.documents.set("/left-pad", { dist: { tarball: `${files.url}/left-pad.tgz` } });
  const read = (await (await fetch(`${server.gateway}/npm/left-pad`)).json()) as { dist: { tarball: string } };
  expect(read.dist.tarball, "the client comes back to the gateway for it").toContain(server.gateway);
  const tarball = async () => (await fetch(read.dist.tarball)).status;
  expect(await tarball()).toBe(200);
  expect(await server.call("pip")).toBe(200);

  await openLive(page, server.board);
  const head = page.locator('[data-group="npm"]');
  await expect(row(page, files.breaker)).toContainText("npm");
  await expect(head, "nothing is wrong").toHaveCount(0);
  files.fail(503);
  for (let call = 0; call < 2; call++) expect(await tarball()).toBe(503);
  const part = (id: string) => id.replace("http:", "");
  await expect(head).toContainText(`npm: ${part(files.breaker)} refused, ${part(metadata.breaker)} flows`);
  await expect(row(page, files.breaker)).toContainText(WORDS.open);
  // What flows is folded under its name and not among the rest, where the other upstream is.
  await expect(row(page, metadata.breaker)).toHaveCount(0);
  await head.getByRole("button", { name: "show 1 more" }).click();
  await expect(row(page, metadata.breaker)).toContainText(WORDS.closed);
  await expect(page.locator("details.rest")).toContainText("1 closed");

  // A mirror that is only ever reached by a redirect.
  metadata.fail(302, { location: `${mirror.url}/there` });
  mirror.fail(503);
  for (let call = 0; call < 2; call++) expect(await server.call("npm")).toBe(503);
  // The rows stay where they are under the pointer until told.
  await page.getByRole("button", { name: "1 changed, re-sort" }).click();
  await expect(head).toContainText(`${part(mirror.breaker)} refused`);
  await expect(head).toContainText(`${part(metadata.breaker)} flows`);
  await expect(row(page, mirror.breaker)).toContainText("npm");

  // Read anew it stands the same, and a search for the upstream finds all of it.
  await openLive(page, `${server.board}/?q=npm`);
  await expect(head).toContainText(`${part(metadata.breaker)} flows`);
  for (const host of [files, mirror]) await expect(row(page, host.breaker)).toBeVisible();
  await expect(row(page, other.breaker)).toHaveCount(0);
});
