/** The form of an answer: JSON nearly everywhere, something else at a few addresses, and nothing else there. */
import { parseExposition } from "../exposition-parser.ts";
import type { FuzzRequest } from "./requests.ts";

export type Answer = { readonly status: number | "held"; readonly text: string; readonly type: string };

/** What a good answer is at the addresses that do not answer in JSON. */
type OtherForm = {
  readonly path: RegExp;
  readonly type: string;
  readonly isWhole: (text: string) => boolean;
};

const EVENTS = "text/event-stream";
const OTHER_FORMS: readonly OtherForm[] = [
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
  { path: /^\/metrics$/, type: "text/plain; version=0.0.4", isWhole: isExposition },
  { path: /^\/v2\/serverless\/[^/]+\/workers\/[^/]+\/logs$/, type: EVENTS, isWhole: areEvents },
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
export function faultOfForm(request: FuzzRequest, { status, type, text }: Answer): string | undefined {
  const [path = ""] = request.path.split("?");
  const other =
    status === 200 && request.method === "GET" ? OTHER_FORMS.find((form) => form.path.test(path)) : undefined;
  const wantsEvents = request.headers["accept"] === EVENTS && EVENTS_ON_DEMAND.test(path);
  if (other && !type.startsWith(other.type)) return `content type ${type}`;
  if (other) return other.isWhole(text) ? undefined : `no ${other.type}`;
  if (wantsEvents && status === 200 && isEventStream(type)) return areEvents(text) ? undefined : "no events";
  if (!type.startsWith("application/json")) return `content type ${type}`;
  return isJson(text) ? undefined : "no JSON";
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

/** The first byte comes at once. What follows the last whole event is on its way. */
function areEvents(text: string): boolean {
  const blocks = text.split("\n\n").slice(0, -1);
  return blocks.length > 0 && blocks.every((block) => block.split("\n").every(isEventLine));
}

function isEventLine(line: string): boolean {
  if (line.startsWith("data: ")) return isJson(line.slice("data: ".length));
  return /^(:.*|id: .+|event: \w+)$/.test(line);
}
