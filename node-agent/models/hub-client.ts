/** Calls of a hub with the API of Hugging Face. */
import { errorMessage } from "../../src/std/errors.ts";
import { parseJson } from "../../src/std/json.ts";
import * as z from "zod";
import { commitSchema, type Model } from "../../src/contract/model.ts";
import type { SentBytes } from "../disk/resumed-transfer.ts";
import { ModelError } from "./model-error.ts";
import { listingProblem, MODEL_FILES_MAX, type ModelFile, nextCursor, readListing } from "./model-listing.ts";

/** Size of one JSON answer: a page of a listing has up to 1,000 files. */
const ANSWER_MAX_BYTES = 16_000_000;
/** Of one listing. */
const PAGES_MAX = 100;

const infoSchema = z.object({ sha: commitSchema });

export type HubOptions = {
  /** Its address, without a slash at the end. */
  readonly source: string;
  readonly token?: string | undefined;
  /** Time for an answer to begin. */
  readonly answerLimitMs: number;
};

/** A part of a file: what is missing of it, and the version that the rest is of. */
export type FilePart = { readonly from: number; readonly etag: string | undefined };
export type SentPart = SentBytes & { readonly etag: string | undefined };

export class HubClient {
  readonly #options: HubOptions;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** The commit that a revision is now. Throws a ModelError. */
  async commitOf(model: Model, signal: AbortSignal): Promise<string> {
    const path = `/api/models/${model.id}/revision/${encodeURIComponent(model.revision)}`;
    const { body } = await this.#json(path, model, signal);
    const info = infoSchema.safeParse(body);
    if (!info.success) throw this.#unreadable(model, "it has no commit");
    return info.data.sha;
  }

  /** All files of a commit. Throws a ModelError. */
  async files(model: Model, commit: string, signal: AbortSignal): Promise<readonly ModelFile[]> {
    const files: ModelFile[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const query = new URLSearchParams({ recursive: "true", ...(cursor !== undefined && { cursor }) });
      const path = `/api/models/${model.id}/tree/${commit}?${query.toString()}`;
      const { body, headers } = await this.#json(path, model, signal);
      files.push(...this.#listed(model, body));
      cursor = nextCursor(headers.get("link"));
      if (cursor === undefined || files.length > MODEL_FILES_MAX) break;
    }
    const problem =
      cursor === undefined ? listingProblem(files) : `it has more than ${MODEL_FILES_MAX} files`;
    if (problem !== undefined) throw this.#unreadable(model, problem);
    return files;
  }

  /** The bytes of a file, or why they do not come. */
  async open(
    model: Model,
    commit: string,
    path: string,
    { from, etag }: FilePart,
    signal: AbortSignal,
  ): Promise<SentPart | ModelError> {
    const file = path.split("/").map(encodeURIComponent).join("/");
    const range =
      from === 0 ? {} : { range: `bytes=${from}-`, ...(etag !== undefined && { "if-range": etag }) };
    try {
      const response = await this.#call(`/${model.id}/resolve/${commit}/${file}`, range, signal);
      if (response.status === 416) return await nothingOf(response);
      if (!response.ok || !response.body) return await this.#failure(response, model, path);
      const isPartial =
        response.status === 206 &&
        (response.headers.get("content-range")?.startsWith(`bytes ${from}-`) ?? false);
      if (response.status === 206 && !isPartial) return await nothingOf(response);
      return { from: isPartial ? from : 0, bytes: response.body, etag: strongEtag(response) };
    } catch (error) {
      return this.#unreachable(model, error);
    }
  }

  async #json(path: string, model: Model, signal: AbortSignal) {
    const response = await this.#call(path, {}, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw this.#unreachable(model, error);
    });
    if (!response.ok) throw await this.#failure(response, model);
    const text = await boundedText(response).catch((error: unknown) => {
      signal.throwIfAborted();
      throw this.#unreachable(model, error);
    });
    if (text === undefined) throw this.#unreadable(model, `it has more than ${ANSWER_MAX_BYTES} bytes`);
    return { body: parseJson(text), headers: response.headers };
  }

  /** The limit is for the beginning of the answer, the signal for all of it. */
  async #call(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { source, answerLimitMs } = this.#options;
    const token = this.#token();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error("no answer in time")), answerLimitMs);
    try {
      // A hub redirects large files to other servers, which do not get the token: fetch leaves it out there.
      return await fetch(`${source}${path}`, {
        headers: {
          "user-agent": "edgerun-agent",
          "accept-encoding": "identity",
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        signal: AbortSignal.any([signal, late.signal]),
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** What cannot be sent would stand in the error of the call. */
  #token(): string | undefined {
    const token = this.#options.token?.trim();
    if (token === undefined || /^[!-~]+$/.test(token)) return token;
    throw new ModelError("The secret of modelTokenSecret is no token: it has blanks or other characters.");
  }

  #listed(model: Model, page: unknown): readonly ModelFile[] {
    try {
      return readListing(page);
    } catch (error) {
      throw this.#unreadable(model, errorMessage(error));
    }
  }

  async #failure(response: Response, model: Model, path?: string): Promise<ModelError> {
    await response.body?.cancel();
    const subject = path === undefined ? nameOf(model) : `File ${path} of ${nameOf(model)}`;
    return hubFailure(response.status, subject, this.#hub, this.#options.token !== undefined);
  }

  #unreachable(model: Model, error: unknown): ModelError {
    if (error instanceof ModelError) return error;
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const reason = errorMessage(cause);
    return new ModelError(`${nameOf(model)} could not be downloaded from ${this.#hub}: ${reason}.`, {
      isTransient: true,
    });
  }

  #unreadable(model: Model, problem: string): ModelError {
    return new ModelError(
      `${nameOf(model)} is not downloaded: what ${this.#hub} says of it is unusable, ${problem}.`,
    );
  }

  get #hub(): string {
    return new URL(this.#options.source).host;
  }
}

/** For messages. */
export function nameOf({ id, revision }: Model): string {
  return `Model ${id}@${revision}`;
}

/** What a status of a hub means to the owner of the template. */
export function hubFailure(status: number, subject: string, hub: string, hasToken: boolean): ModelError {
  if (status === 401 || status === 403) {
    const fix = hasToken
      ? "The token of modelTokenSecret may not read it: accept the model's terms there, or take another token"
      : "If it is private or gated, set modelTokenSecret of the template to a secret with a token that may read it";
    return new ModelError(`${subject} is not open to this host: ${hub} answers ${status}. ${fix}.`);
  }
  if (status === 404) {
    return new ModelError(`${subject} is unknown to ${hub}. Check the name and the revision in models.`);
  }
  const isTransient = status === 408 || status === 429 || status >= 500;
  return new ModelError(`${subject} could not be downloaded: ${hub} answers ${status}.`, { isTransient });
}

/** A weak one does not say that bytes are the same. */
function strongEtag({ headers }: Response): string | undefined {
  const etag = headers.get("etag");
  return etag !== null && /^"[^"]{1,200}"$/.test(etag) ? etag : undefined;
}

/** Of an answer that is about other bytes: it has to be asked for all of them. */
async function nothingOf(response: Response): Promise<SentPart> {
  await response.body?.cancel();
  return { from: 0, bytes: new Blob([]).stream(), etag: undefined };
}

/** Undefined for an answer that is too large. */
async function boundedText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
