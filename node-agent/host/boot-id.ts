import { readFile } from "node:fs/promises";

let known: Promise<string> | undefined;

/** A different id after each boot of this host; empty where the system does not provide one. */
export function bootId(): Promise<string> {
  known ??= readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    (text) => text.trim(),
    () => "",
  );
  return known;
}
