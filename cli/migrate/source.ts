/** Reads an account of the old service: its REST API v2, and GraphQL for what that lacks. */
import { setTimeout } from "node:timers/promises";
import pRetry from "p-retry";
import type * as z from "zod";
import { formatIssues } from "../../src/contract/validation-issues.ts";
import { parseJson } from "../../src/std/json.ts";
import { Failure } from "../../src/std/failure.ts";
import { withinMs } from "../service/service.ts";
import {
  delegationsSchema,
  endpointsSchema,
  extrasSchema,
  registriesSchema,
  secretsSchema,
  sshKeysSchema,
  templatesSchema,
  volumesSchema,
  type Page,
} from "./source-schemas.ts";

const GRAPHQL_PATH = "/graphql";
const ANSWER_LIMIT_MS = 60_000;
/** More than a full list of endpoints with long variables has. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;
/** A list with more pages is not that of an account. */
const PAGES_MAX = 100;
const RETRIES = { retries: 4, minTimeout: 1_000, maxTimeout: 10_000 };
/** A service that wants a longer pause is asked another day. */
const PAUSE_MAX_SECONDS = 120;

export type SourceAccess = {
  /** Such as https://api.runpod.io, without a trailing slash. */
  readonly url: string;
  readonly apiKey: string;
  readonly signal: AbortSignal;
};

export type SourceAccount = Awaited<ReturnType<typeof readSource>>;

/** One request at a time. Throws a Failure that names what could not be read. */
export async function readSource(access: SourceAccess) {
  const { keys } = await read(access, "/v2/account/ssh-keys", sshKeysSchema);
  const registries = (await readPages(access, "/v2/registries", registriesSchema)).flatMap(
    (page) => page.registries,
  );
  const networkVolumes = (await readPages(access, "/v2/network-volumes", volumesSchema)).flatMap(
    (page) => page.networkVolumes,
  );
  const templates = (await readPages(access, "/v2/templates", templatesSchema)).flatMap(
    (page) => page.templates,
  );
  const endpoints = (await readPages(access, "/v2/serverless", endpointsSchema)).flatMap(
    (page) => page.endpoints,
  );
  const { data } = await read(access, GRAPHQL_PATH, secretsSchema, myself("secrets { name description }"));
  /** What could not be read and cannot be migrated anyway. */
  const unread: string[] = [];
  const noteUnread = (error: unknown): undefined => {
    if (!(error instanceof SourceFailure) || error.isTemporary) throw error;
    unread.push(error.message);
  };
  const delegations = await read(access, "/v2/registries/delegations", delegationsSchema).catch(noteUnread);
  const members = myself("endpoints { id modelReferences compliance }");
  const extras = await read(access, GRAPHQL_PATH, extrasSchema, members).catch(noteUnread);
  return {
    sshKeys: keys,
    secrets: data.myself.secrets,
    registries,
    delegations: delegations?.delegations ?? [],
    networkVolumes,
    templates,
    endpoints,
    extras: extras?.data.myself.endpoints ?? [],
    unread,
  };
}

class SourceFailure extends Failure {
  /** Undefined for one that stays; else how long the service wants to be left alone. */
  readonly pauseSeconds: number | undefined;

  constructor(message: string, pauseSeconds?: number) {
    super(message, [
      "The key of the old service (RUNPOD_API_KEY) must be allowed to read all of the account.",
    ]);
    this.pauseSeconds = pauseSeconds;
  }

  get isTemporary(): boolean {
    return this.pauseSeconds !== undefined;
  }
}

/** A query of members of `myself`. */
function myself(members: string): RequestInit {
  return { method: "POST", body: JSON.stringify({ query: `query { myself { ${members} } }` }) };
}

/** The pages of a list, one after the other. */
async function readPages<Read extends Page>(
  access: SourceAccess,
  path: string,
  schema: z.ZodType<Read>,
): Promise<Read[]> {
  const pages: Read[] = [];
  let query = "";
  while (pages.length < PAGES_MAX) {
    const page = await read(access, `${path}${query}`, schema);
    pages.push(page);
    const { hasNextPage, nextCursor } = page.pagination ?? {};
    if (!hasNextPage || !nextCursor) return pages;
    query = `?${new URLSearchParams({ cursor: nextCursor }).toString()}`;
  }
  throw new SourceFailure(`${access.url}${path} has more than ${PAGES_MAX} pages.`);
}

async function read<Schema extends z.ZodType>(
  access: SourceAccess,
  path: string,
  schema: Schema,
  init: RequestInit = {},
): Promise<z.output<Schema>> {
  const answer = await pRetry(async () => await request(access, path, init), {
    ...RETRIES,
    signal: access.signal,
    shouldRetry: async ({ error }) => {
      if (!(error instanceof SourceFailure)) return false;
      const { pauseSeconds = Infinity } = error;
      if (pauseSeconds > PAUSE_MAX_SECONDS) return false;
      await setTimeout(pauseSeconds * 1_000, undefined, { signal: access.signal });
      return true;
    },
  });
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const issues = formatIssues(parsed.error);
  throw new SourceFailure(`${access.url}${path} sent what this command does not understand: ${issues}.`);
}

/** Reads no more than the limit, whatever Content-Length says. */
async function boundedText({ body }: Response, place: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_MAX_BYTES) {
      throw new SourceFailure(`${place} answered with more than ${ANSWER_MAX_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function request(
  { url, apiKey, signal }: SourceAccess,
  path: string,
  init: RequestInit,
): Promise<unknown> {
  const place = `${url}${path}`;
  try {
    const response = await fetch(place, {
      ...init,
      // A redirect could send the key elsewhere.
      redirect: "error",
      headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
      signal: withinMs(ANSWER_LIMIT_MS, signal),
    });
    if (response.ok) return parseJson(await boundedText(response, place));
    const { status, headers } = response;
    const pauseSeconds =
      status === 429 || (status >= 500 && status !== 501)
        ? Number(headers.get("Retry-After")) || 0
        : undefined;
    throw new SourceFailure(`${place} answered with HTTP ${status}.`, pauseSeconds);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    const { cause, message } = error as Error;
    throw new SourceFailure(
      `${place} cannot be reached: ${cause instanceof Error ? cause.message : message}.`,
      0,
    );
  }
}
