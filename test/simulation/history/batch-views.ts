/** What answers may say of a batch. */
import type { SimulatedClient } from "./client.ts";

export type KnownBatch = {
  readonly endpointId: string;
  readonly id: string;
  readonly path: string;
  /** Of its requests, in their order. */
  readonly inputs: unknown[];
  readonly submittedAt: number;
  isCancelled: boolean;
  /** How many requests were completed when the client looked last. */
  completed: number;
};

/** A request of a batch. */
export type BatchView = {
  readonly id: string;
  readonly status: string;
  readonly output?: { readonly of: unknown };
};

type Violate = (what: string) => void;
type Page = { readonly total: number; readonly hasMore: boolean };

const PAGES_MAX = 50;

type Walk = { readonly path: string; readonly member: string; readonly limit: number };

/** All entries of a list, page by page; undefined when a page does not come. */
export async function walkPages<Entry>(
  client: SimulatedClient,
  { path, member, limit }: Walk,
  violate: Violate,
): Promise<readonly Entry[] | undefined> {
  const entries: Entry[] = [];
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const answer = await client.call("GET", `${path}?offset=${entries.length}&limit=${limit}`);
    if (answer?.status !== 200) return undefined;
    const page = (answer.body[member] ?? []) as readonly Entry[];
    const { hasMore, total } = answer.body as Page;
    entries.push(...page);
    if (page.length > limit || (hasMore && page.length < limit))
      violate(`a page of ${path} has ${page.length} of ${limit} entries, and there are ${total}`);
    if (!hasMore) return entries;
  }
  return undefined;
}

/** The counts fit the batch, and completed requests stay so. */
export function checkSummary(
  batch: KnownBatch,
  body: Record<string, unknown>,
  mayBePurged: boolean,
  violate: Violate,
): void {
  const { path, inputs, isCancelled } = batch;
  const { status, requestTotal, requestInProgress, requestCompleted, requestFailed } = body as {
    readonly status: string;
    readonly requestTotal: number;
    readonly requestInProgress: number;
    readonly requestCompleted: number;
    readonly requestFailed: number;
  };
  const isWrong =
    requestTotal !== inputs.length ||
    Math.min(requestInProgress, requestCompleted, requestFailed) < 0 ||
    requestInProgress + requestCompleted + requestFailed > requestTotal ||
    requestCompleted < batch.completed;
  if (isWrong)
    violate(
      `${path} of ${inputs.length} requests, ${batch.completed} of them completed: ${JSON.stringify(body)}`,
    );
  batch.completed = requestCompleted;
  if (status === "DRAFT") violate(`${path} is a draft, though it was started`);
  if (status === "CANCELLED" && !isCancelled && !mayBePurged) violate(`${path} was cancelled by nobody`);
}

/** Requests come in their order; `isCut`: some may never have been queued, as the batch was cancelled. */
export function checkRequests(
  { path, inputs }: KnownBatch,
  views: readonly BatchView[],
  { isDraft, isCut }: { readonly isDraft: boolean; readonly isCut: boolean },
  violate: Violate,
): void {
  if (new Set(views.map(({ id }) => id)).size < views.length) violate(`${path} shows a request twice`);
  if (views.length > inputs.length || (views.length < inputs.length && !isCut))
    violate(`${path} has ${views.length} requests of ${inputs.length}`);
  for (const [index, { status, output }] of views.entries()) {
    if ((status === "DRAFT") !== isDraft) violate(`request ${index} of ${path} is ${status}`);
    if (status === "CANCELLED" && !isCut) violate(`request ${index} of ${path} was cancelled by nobody`);
    if (status === "COMPLETED" && JSON.stringify(output?.of) !== JSON.stringify(inputs[index]))
      violate(`request ${index} of ${path} has the output of another one`);
  }
}
