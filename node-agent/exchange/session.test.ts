import { test } from "vitest";
import { SILENT_LOG } from "../core/log.ts";
import { beginSession } from "./session.ts";

test("each session names the one before, and begins on a full disk as well", ({ expect }) => {
  const settings = new Map<string, string>();
  const setting = (name: string) => settings.get(name);
  const saveSetting = (name: string, value: string) => void settings.set(name, value);
  const first = beginSession({ setting, saveSetting }, SILENT_LOG);
  expect(first.previous).toBeUndefined();
  const saveNothing = () => {
    throw new Error("disk full");
  };
  const second = beginSession({ setting, saveSetting: saveNothing }, SILENT_LOG);
  expect(second.previous).toBe(first.id);
  expect(second.id).not.toBe(first.id);
  expect(beginSession({ setting, saveSetting }, SILENT_LOG).previous).toBe(first.id);
});
