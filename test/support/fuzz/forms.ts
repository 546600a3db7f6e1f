/** The form of an answer: JSON nearly everywhere, something else at a few addresses, and nothing else there. */
import { parseExposition } from "../exposition-parser.ts";
import type { FuzzRequest } from "./requests.ts";

export type Answer = { readonly status: number | "held"; readonly text: string; readonly type: string };

type Form = { readonly type: string; readonly isWhole: (text: string) => boolean };

const EVENTS = "text/event-stream";
const JSON_FORM: Form = { type: "application/json", isWhole: isJson };
const EVENT_FORM: Form = { type: EVENTS, isWhole: areEvents };
/** What a good answer is at the addresses that do not answer in JSON. */
const OTHER_FORMS: readonly (Form & { readonly path: RegExp })[] = [
  {
    path: /^\/agent\/install\.sh$/,
    type: "text/x-shellscript",
    isWhole: (text) => /^#!\/bin\/sh\n[^]*\ninstall_edgerun "\$@"\n$/.test(text),
  },
  { path: /^\/agent\/edgerun-agent\.mjs$/, type: "text/javascript", isWhole: (text) => text.endsWith("\n") },
  {
    path: /^\/agent\/edgerun-agent\.mjs\.sha256$/,
    type: "text/plain",
    isWhole: (text) => /^[0-9a-f]{64}\n$/.test(text),
  },
  {
    path: /^\/flash\/login$/,
    type: "text/html",
    isWhole: (text) => text.startsWith("<!doctype html>") && text.endsWith("</html>\n"),
  },
  { path: /^\/metrics$/, type: "text/plain; version=0.0.4", isWhole: isExposition },
  { path: /^\/v1\/costs\.csv$/, type: "text/csv", isWhole: isTable },
  { path: /^\/v2\/serverless\/[^/]+\/workers\/[^/]+\/logs$/, ...EVENT_FORM },
];
/** Where events come if they are asked for. */
const EVENTS_ON_DEMAND = /^\/v2\/[^/]+\/(stream\/[^/]+|logs)$/;

export function isEventStream(type: string): boolean {
  return type.startsWith(EVENTS);
}

/** An agent file, or nothing new: who has it says so by `If-None-Match`. */
export function isDownload({ method, path }: FuzzRequest): boolean {
  return method === "GET" && /^\/agent\/edgerun-agent\.mjs(\.sha256)?(\?|$)/.test(path);
}

/** What is wrong with the form of an answer, if anything is. */
export function formFailure(request: FuzzRequest, answer: Answer): string | undefined {
  const { type, text } = answer;
  const form = otherFormOf(request, answer) ?? JSON_FORM;
  if (!type.startsWith(form.type)) return `content type ${type}`;
  return form.isWhole(text) ? undefined : `no ${form.type}`;
}

function otherFormOf({ method, path, headers }: FuzzRequest, { status, type }: Answer) {
  const [address = ""] = path.split("?");
  if (status !== 200) return undefined;
  const mayBeEvents = headers["accept"] === EVENTS && EVENTS_ON_DEMAND.test(address);
  if (mayBeEvents && isEventStream(type)) return EVENT_FORM;
  return method === "GET" ? OTHER_FORMS.find((form) => form.path.test(address)) : undefined;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isExposition(text: string): boolean {
  try {
    parseExposition(text);
    return true;
  } catch {
    return false;
  }
}

/** A CSV file (RFC 4180): every line ends with CRLF and has as many fields as the first. */
function isTable(text: string): boolean {
  const [head = "", ...rows] = text.replaceAll(/"(?:[^"]|"")*"/g, "").split("\r\n");
  return rows.pop() === "" && rows.every((row) => row.split(",").length === head.split(",").length);
}

/** The first byte comes at once. What follows the last whole event is on its way. */
function areEvents(text: string): boolean {
  const blocks = text.split("\n\n").slice(0, -1);
  return blocks.length > 0 && blocks.every((block) => block.split("\n").every(isEventLine));
}

function isEventLine(line: string): boolean {
  if (line.startsWith("data: ")) return isJson(line.slice("data: ".length));
  return /^(:.*|id: .+|event: \w+)$/.test(line);
}
