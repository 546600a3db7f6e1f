/** How the gateway opens the wake-up channel of an exchange: with the exchange itself in a header, or after it. */

/** The exchange, as JSON in percent encoding. */
export const EXCHANGE_CALL = "Edgerun-Exchange";
/** Of an exchange that goes on waiting on its channel: when it was made, epoch ms. */
export const EXCHANGED_AT = "Edgerun-Exchanged-At";
/** Longer headers are not sent. */
const HEADER_MAX_LENGTH = 8_000;
/** More slots, or open turns, would not fit the attachment of a socket in any case. */
const OFFERED_MAX = 64;

/** What an exchange offers, as its wake-up channel remembers it. */
export type ChannelOffer = {
  readonly hostId: string;
  readonly session: string;
  readonly turn: number;
  readonly openTurns: readonly number[];
  readonly slots: readonly { readonly workerId: string; readonly free: number }[];
};

/** A waiting agent, and how many jobs it could take. */
export type AgentWaiter = {
  readonly hostId: string;
  readonly session: string;
  readonly turn: number;
  readonly free: number;
  /** Absent where there are too many to remember, and in channels of older scripts: then it has to exchange again. */
  readonly offer?: ChannelOffer;
};

type WaitingCall = ChannelOffer & {
  readonly isWaiting: boolean;
  readonly reports: readonly unknown[];
  readonly chunks: readonly unknown[];
  readonly running: readonly { readonly progressJson: string | null }[];
};

/** The header of an exchange that waits and brings nothing; undefined for another one. */
export function exchangeHeader(call: WaitingCall): string | undefined {
  const { isWaiting, reports, chunks, running } = call;
  const bringsMore = reports.length + chunks.length > 0 || running.some((job) => job.progressJson !== null);
  if (!isWaiting || bringsMore) return undefined;
  const header = encodeURIComponent(JSON.stringify(call));
  return header.length <= HEADER_MAX_LENGTH ? header : undefined;
}

/** `slots=<worker>:<free>,…&open=<turn>,…`; nothing when there are too many of either. */
export function offerQuery({
  slots,
  openTurns,
}: Pick<ChannelOffer, "slots" | "openTurns">): Readonly<Record<string, string>> {
  if (!isSmall({ slots, openTurns })) return {};
  return {
    slots: slots.map(({ workerId, free }) => `${workerId}:${free}`).join(),
    open: openTurns.join(),
  };
}

/** Reads `host=…&session=…&turn=…&free=…&slots=…&open=…`, as the gateway writes it. */
export function readAgentQuery(query: URLSearchParams): AgentWaiter {
  const slots = listIn(query, "slots").map((slot) => {
    const [workerId = "", free] = slot.split(":");
    return { workerId, free: Number(free) };
  });
  const offer = {
    hostId: query.get("host") ?? "",
    session: query.get("session") ?? "",
    turn: Number(query.get("turn")),
    openTurns: listIn(query, "open").map(Number),
    slots,
  };
  return waiterOf(offer, Number(query.get("free")));
}

/** What the channel of an exchange remembers, of which so many slots may get jobs. */
export function waiterOf(
  { hostId, session, turn, openTurns, slots }: ChannelOffer,
  free: number,
): AgentWaiter {
  const agent = { hostId, session, turn };
  const offer = { ...agent, openTurns, slots };
  return isSmall(offer) ? { ...agent, free, offer } : { ...agent, free };
}

function isSmall({ slots, openTurns }: Pick<ChannelOffer, "slots" | "openTurns">): boolean {
  return slots.length > 0 && Math.max(slots.length, openTurns.length) <= OFFERED_MAX;
}

function listIn(query: URLSearchParams, name: string): string[] {
  const text = query.get(name);
  return text ? text.split(",") : [];
}
