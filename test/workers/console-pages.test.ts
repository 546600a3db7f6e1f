import { exports } from "cloudflare:workers";
import { test } from "vitest";

const HTML = "text/html,application/xhtml+xml,*/*;q=0.8";

async function get(path: string, accept = HTML): Promise<Response> {
  return await exports.default.fetch(`http://edge${path}`, {
    headers: { Accept: accept },
    redirect: "manual",
  });
}

const PAGES = [
  "/",
  "/sign-in?next=%2F",
  "/endpoints/abc/jobs/1",
  "/hosts",
  "/apps",
  "/pods",
  "/templates/abc",
  "/volumes",
  "/secrets",
  "/registries",
  "/webhooks",
  "/usage",
  "/audit",
  "/access",
  "/settings",
];

test.for(PAGES)(
  "%s is the console, which nothing may frame and which runs its own code only",
  async (path, { expect }) => {
    const response = await get(path);
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(html).toBe(await (await get("/")).text());
    expect(html).not.toMatch(/<script(?![^>]*\bsrc="\/console\/assets\/)|<style|style=|\son\w+=/);
    const policy = response.headers.get("Content-Security-Policy") ?? "";
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
    ]) {
      expect(policy).toContain(directive);
    }
    expect(policy).not.toMatch(/unsafe|https?:|\*|script-src[^;]*data:/);
    expect(response.headers.get("X-Frame-Options")).toBe("DENY");
    expect(response.headers.get("Cross-Origin-Opener-Policy")).toBe("same-origin");
    expect(response.headers.get("Cache-Control")).toBe("no-cache");
  },
);

test("its files have names of their own content, and are never asked for again", async ({ expect }) => {
  const html = await (await get("/")).text();
  const files = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    const response = await get(file, "*/*");
    expect(response.status, file).toBe(200);
    expect(file).toMatch(/-[\w-]{8}\.(js|css)$/);
    expect(response.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
    await response.arrayBuffer();
  }
});

test.for(["/endpoints", "/hosts", "/console/assets/nothing.js", "/console/index.html"])(
  "a program gets an error at %s, not a page",
  async (path, { expect }) => {
    const response = await get(path, "application/json");
    expect(response.headers.get("Content-Type")).toMatch(/^application\/json/);
    expect(await response.json()).toMatchObject({ code: expect.stringMatching(/not_found|invalid_input/) });
  },
);
