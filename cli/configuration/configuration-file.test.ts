import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished, test } from "vitest";
import { ConfigurationFile } from "./configuration-file.ts";

function configuration(text?: string): ConfigurationFile {
  const home = mkdtempSync(join(tmpdir(), "flash-home-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const file = new ConfigurationFile({ HOME: home });
  mkdirSync(dirname(file.path), { recursive: true });
  if (text !== undefined) writeFileSync(file.path, text, { mode: 0o644 });
  return file;
}

test("other entries are kept, and only the user may read the file", async ({ expect }) => {
  const file = configuration('theme = "dark"\n[profiles.work]\nregion = "EU"\n');
  await file.write({ url: "https://edge.example", api_key: "key" });
  expect(await file.read()).toEqual({
    theme: "dark",
    profiles: { work: { region: "EU" } },
    url: "https://edge.example",
    api_key: "key",
  });
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
});

test("undefined entries are removed", async ({ expect }) => {
  const file = configuration('insecure = true\nurl = "http://edge.example"\n');
  await file.write({ url: "https://edge.example", insecure: undefined });
  expect(readFileSync(file.path, "utf8")).toBe('url = "https://edge.example"\n');
});

test("a missing file is empty, and writing creates it", async ({ expect }) => {
  const file = configuration();
  expect(await file.read()).toEqual({});
  await file.write({ api_key: "key" });
  expect(await file.read()).toEqual({ api_key: "key" });
});

test("XDG_CONFIG_HOME takes precedence over the home directory", ({ expect }) => {
  const { path } = new ConfigurationFile({ HOME: "/home/person", XDG_CONFIG_HOME: "/etc/person" });
  expect(path).toBe("/etc/person/edgerun/config.toml");
});
