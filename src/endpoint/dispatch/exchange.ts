/** Exchanges with agents: one turn of the queue, then a moment in which a job may come. */
import type { EndpointParts } from "../composition.ts";
import type { ExchangeAnswer, ExchangeCall, ExchangeReply, Slots } from "../messages.ts";
import { IN_OBJECT_WAIT_MS } from "../../durable/waiters.ts";

type ExchangeParts = Pick<
  EndpointParts,
  "facts" | "dispatch" | "commit" | "agents" | "notifier" | "scaling" | "followers" | "lookup"
>;

const NOTHING: ExchangeAnswer = { acks: [], chunkAcks: [], jobs: [], stops: [] };

/** Takes an agent's reports, extends its leases, answers with jobs and stops. */
export async function exchange(parts: ExchangeParts, call: ExchangeCall): Promise<ExchangeReply> {
  const { dispatch, commit, agents, facts, lookup } = parts;
  await lookup.learnOf(call.slots);
  const isOvertaken = call.isWaiting && dispatch.isSuperseded(call);
  const answer = await commit.run(() => {
    const now = Date.now();
    // Asked when the reports are in: they or a turn before this one may have closed a worker.
    const openTo = (slots: Slots) => (isOvertaken ? [] : openSlots(parts, call.hostId, slots));
    const answered = agents.exchange(call, now, openTo);
    if (!isEmptyAnswer({ ...answered, stops: [] })) facts.recordWork(now);
    return answered;
  });
  const follow = followNews(parts, call);
  const isNews = answer.jobs.length + answer.stops.length > 0 || follow !== undefined;
  if (!call.isWaiting || isNews)
    return { kind: "answer", ...answer, ...(follow !== undefined && { follow }) };
  return withAcks(answer, isOvertaken ? { kind: "superseded" } : await wait(parts, call));
}

/** Acknowledgements wait with the call for a job, for the short time that a call waits in here. */
async function wait(parts: ExchangeParts, call: ExchangeCall): Promise<ExchangeReply> {
  const { dispatch, notifier, facts, agents, scaling } = parts;
  dispatch.supersede(call.hostId);
  notifier.supersede(call);
  const slots = openSlots(parts, call.hostId, call.slots);
  const free = slots.reduce((sum, slot) => sum + slot.free, 0);
  const quiet = { kind: "quiet", free, terms: termsOf(facts, scaling) } as const;
  if (facts.holdMs(IN_OBJECT_WAIT_MS, Date.now()) === 0) return quiet;
  const end = await dispatch.wait({ ...call, slots: agents.openSlots({ ...call, slots }) });
  switch (end.kind) {
    case "jobs":
      return { kind: "answer", ...NOTHING, jobs: end.jobs };
    case "look":
      return await exchange(parts, { ...call, reports: [], chunks: [] });
    case "quiet":
      return quiet;
    case "superseded":
      return end;
  }
}

/** Differs when other workers than before may take jobs. */
export function termsOf(facts: ExchangeParts["facts"], scaling: ExchangeParts["scaling"]): string {
  return `${facts.terms}.${scaling.admissionVersion}`;
}

/** Who follows the logs, unless the agent knows that or does not care. */
function followNews({ followers }: ExchangeParts, call: ExchangeCall): number | undefined {
  return call.follow === undefined || call.follow === followers.follow ? undefined : followers.follow;
}

function openSlots({ facts, scaling }: ExchangeParts, hostId: string, slots: Slots): Slots {
  return scaling.openTo(facts.openTo(slots, () => hostId));
}

/** What a call was held for, and the acknowledgements that it has to bring home in any case. */
function withAcks({ acks, chunkAcks }: ExchangeAnswer, end: ExchangeReply): ExchangeReply {
  if (acks.length + chunkAcks.length === 0 || end.kind === "unconfigured") return end;
  const answer = end.kind === "answer" ? end : NOTHING;
  return { ...answer, kind: "answer", acks, chunkAcks };
}

function isEmptyAnswer({ acks, chunkAcks, jobs, stops }: ExchangeAnswer): boolean {
  return acks.length + chunkAcks.length + jobs.length + stops.length === 0;
}
