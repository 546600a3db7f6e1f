/** How figures and times are written. */

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const count = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 });

export function ago(at: number, now: number): string {
  const seconds = (at - now) / 1_000;
  const [unit, length] = UNITS.find(([, one]) => Math.abs(seconds) >= one) ?? ["second", 1];
  return relative.format(Math.round(seconds / length), unit);
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = Math.round((ms % 60_000) / 1_000);
  return minutes < 60 ? `${minutes} min ${seconds} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function number(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : count.format(value);
}

export function dollars(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : money.format(value);
}

export function gigabytes(mb: number | null | undefined): string {
  return mb === null || mb === undefined ? "–" : `${count.format(mb / 1_000)} GB`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return value < 1_000_000 ? `${count.format(value / 1_000)} kB` : `${count.format(value / 1_000_000)} MB`;
}

/** `1 job`, `2 jobs`. */
export function plural(value: number, noun: string): string {
  return `${count.format(value)} ${noun}${value === 1 ? "" : "s"}`;
}

const BROWSERS = ["Edg", "OPR", "Firefox", "Chrome", "Safari"];
const SYSTEMS = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "CrOS", "Linux"];

/** `Firefox on Linux`, from what a browser says of itself; other texts as they are. */
export function browserName(userAgent: string): string {
  const browser = BROWSERS.find(
    (name) => userAgent.includes(`${name}/`) || userAgent.includes(`Headless${name}/`),
  );
  const system = SYSTEMS.find((name) => userAgent.includes(name));
  return browser && system ? `${browser === "Edg" ? "Edge" : browser} on ${system}` : userAgent;
}

type HandlerError = { readonly error_message?: unknown; readonly error_traceback?: unknown };

/** A handler's error is JSON with its message and its traceback; other errors are sentences. */
export function readError(error: string): { readonly message: string; readonly traceback: string } {
  try {
    const { error_message: message, error_traceback: traceback } = JSON.parse(error) as HandlerError;
    const shown = typeof message === "string" ? message : error;
    return { message: shown, traceback: typeof traceback === "string" ? traceback : shown };
  } catch {
    return { message: error, traceback: error };
  }
}
