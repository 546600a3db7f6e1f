/** Warnings and errors of discovery, as the person reads them. */
import { Failure } from "../core/failure.ts";
import type { Diagnostic } from "./discovery-report.ts";

/** `file:line: message`, with as much of it as there is. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  if (diagnostic.file === null) return diagnostic.message;
  return `${diagnostic.line === null ? diagnostic.file : `${diagnostic.file}:${diagnostic.line}`}: ${diagnostic.message}`;
}

/** One Failure for all errors of an app, a line each; `done` is what they keep from being done. */
export function failureOf(errors: readonly Diagnostic[], done: "built" | "read" = "built"): Failure {
  const [only] = errors;
  if (errors.length === 1 && only?.file === null) {
    const [message = "", ...advice] = only.message.trimEnd().split("\n");
    return new Failure(capitalized(message), advice);
  }
  const count = errors.length === 1 ? "an error" : `${errors.length} errors`;
  return new Failure(
    `The app cannot be ${done}: ${count} in its declarations.`,
    errors.map(formatDiagnostic),
  );
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
