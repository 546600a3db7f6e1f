import { test } from "vitest";
import { readServerSettings, serverVariables } from "./server-settings.ts";

test.for([
  [{}, { port: 80, healthPort: 80, healthPath: "/ping" }],
  [
    { PORT: "", HEALTH_CHECK_PATH: "" },
    { port: 80, healthPort: 80, healthPath: "/ping" },
  ],
  [{ PORT: " 8000 " }, { port: 8000, healthPort: 8000, healthPath: "/ping" }],
  [
    { PORT: "1", PORT_HEALTH: "65535", HEALTH_CHECK_PATH: "/v1/health?deep=1" },
    { port: 1, healthPort: 65_535, healthPath: "/v1/health?deep=1" },
  ],
] as const)("variables %j say where the server is", ([env, settings], { expect }) => {
  expect(readServerSettings(env)).toEqual({ kind: "settings", settings });
  const told = serverVariables(settings);
  expect(readServerSettings(told)).toEqual({ kind: "settings", settings });
});

test.for([
  ["PORT", "abc"],
  ["PORT", "0"],
  ["PORT", "-1"],
  ["PORT", "65536"],
  ["PORT", "80.5"],
  ["PORT", "0x50"],
  ["PORT_HEALTH", "http"],
  ["HEALTH_CHECK_PATH", "ping"],
  ["HEALTH_CHECK_PATH", "/a b"],
  ["HEALTH_CHECK_PATH", "/ping\r\nX-Evil: 1"],
  ["HEALTH_CHECK_PATH", "/größe"],
  ["HEALTH_CHECK_PATH", `/${"a".repeat(3_000)}`],
] as const)("%s=%j is refused by its name", ([name, value], { expect }) => {
  const read = readServerSettings({ [name]: value });
  expect(read.kind === "problem" && read.problem.startsWith(`${name} is "`)).toBe(true);
  if (read.kind === "problem") expect(read.problem.length).toBeLessThan(400);
});
