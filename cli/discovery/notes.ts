/** Warnings and errors of discovery, as the person reads them. */
import { Failure } from "../failure.ts";
import type { DiscoveryNote } from "./discovery-report.ts";

/** `file:line: message`, with as much of it as there is. */
export function noteLine(note: DiscoveryNote): string {
  if (note.file === null) return note.message;
  return `${note.line === null ? note.file : `${note.file}:${note.line}`}: ${note.message}`;
}

/** One Failure for all errors of an app, a line each; `done` is what they keep from being done. */
export function failureOf(errors: readonly DiscoveryNote[], done: "built" | "read" = "built"): Failure {
  const [only] = errors;
  if (errors.length === 1 && only?.file === null) {
    const [message = "", ...advice] = only.message.trimEnd().split("\n");
    return new Failure(capitalized(message), advice);
  }
  const count = errors.length === 1 ? "an error" : `${errors.length} errors`;
  return new Failure(`The app cannot be ${done}: ${count} in its declarations.`, errors.map(noteLine));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
