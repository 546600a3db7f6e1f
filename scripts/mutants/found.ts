import { type Mutant, mutant } from "./mutant.ts";

/** Each undoes a fix of a bug that simulated histories have found: test/simulation/FOUND.md names them. */
export const FOUND_MUTANTS: readonly Mutant[] = [
  // What an object takes for proof that an agent lacks a job
  mutant("U1", "!isOvertaken && !call.isRepeated", "!isOvertaken", "workers/waiting"),
  mutant(
    "U2",
    "return isLater && calls.knowsReplies(call);",
    "return call.openTurns.length === 0;",
    "workers/dispatch.test",
  ),
  mutant(
    "U3",
    "return isLater && calls.knowsReplies(call);",
    "return calls.knowsReplies(call);",
    "workers/dispatch.test",
  ),
  mutant(
    "U4",
    "return this.#past.includes(session);",
    "return false;",
    "workers/dispatch.test",
    "workers/queue-attempts",
  ),
  mutant(
    "U5",
    "if (wasHeldBefore && (isLater || calls.isPast(holder))) return true;",
    "",
    "workers/dispatch.test",
  ),
  mutant("U29", "(isLater || calls.isPast(holder))", "calls.isPast(holder)", "workers/dispatch.test"),

  // What an object tells an agent
  mutant(
    "U6",
    "dispatch.endOtherSession(call); notifier.endOtherSessions(call);",
    "",
    "workers/queue-attempts",
  ),
  mutant(
    "U7",
    "if (last && !mayBeLost(last, call)) return false;",
    "if (last) return false;",
    "workers/dispatch-stops",
  ),
  mutant(
    "U32",
    'return isLost(stored.job) ? "lease_lost" : undefined;',
    "return undefined;",
    "workers/queue-attempts",
  ),

  mutant(
    "U61",
    'if (acknowledged === "removed") await this.#forgetEndpoint(endpointId);',
    'if (acknowledged === "removed") return;',
    "workers/deleted-meanwhile",
  ),
  mutant(
    "U62",
    'workers.stopJob(ref.endpointId, { jobId, attempt, reason: "expired" });',
    "",
    "agent/edge-loops",
  ),

  // The queue
  mutant(
    "U71",
    "if (seq >= head) return this.#requeued[priority] + seq - head + 1;",
    "if (seq >= head) return seq - head + 1;",
    "workers/low-priority",
  ),

  // Conversations of an agent
  mutant("U8", "return isIdle && !this.#hasNews;", "return isIdle;", "edge-loops"),
  mutant("U9", "this.#lastTurn = options.lastTurn;", "this.#lastTurn = 0;", "edge-loops"),
  mutant(
    "U10",
    "if (number > this.#overtakenNumber || revision",
    "if (number > this.#appliedNumber || revision",
    "edge-loops",
  ),
  mutant(
    "S23",
    "export class Backoff {",
    "const performance = { now: () => Date.now() }; export class Backoff {",
    "core/backoff",
  ),

  // An agent that starts again
  mutant("U11", "this.#strays.expect();", "", "queue/worker-jobs"),
  mutant("U12", "await this.#options.workersKnown;", "", "test/agent/worker-server"),
  mutant(
    "U13",
    "return { port, isSame: isFirst || (isSamePort && isSameAddress), remember };",
    "remember(); return { port, isSame: isFirst || (isSamePort && isSameAddress), remember };",
    "fixed-port",
  ),
  mutant(
    "U14",
    "await this.#unclaimed.discard(",
    "await this.#loseOrphanedAttempts([...attempts.values()].flat()); await this.#unclaimed.discard(",
    "worker/workers",
  ),
  mutant(
    "U15",
    "new DeliveredJob(record, null, deliveredAt, record.isDelivered);",
    "new DeliveredJob(record, null, deliveredAt);",
    "queue/worker-jobs",
  ),
  mutant(
    "U30",
    "this.#ledger = new AttemptLedger(this.#journal, options.log);",
    "this.#ledger = new AttemptLedger(this.#journal, options.log); this.#session = beginSession(this.#journal, options.log);",
    "agent-restart",
  ),
  mutant("U31", "capMs: removeRetryCapMs };", "capMs: 60_000 };", "lifecycle/restart"),

  // Workers, and what runs in them
  mutant("U16", ", ...this.#reportsOfEnded()];", "];", "agent-large"),
  mutant("U17", "if (blocked.length > 0 && !this.needsHardStop()) {", "if (false) {", "queue/worker-jobs"),
  mutant("U18", "wasSent && record.jobId === jobId", "record.jobId === jobId", "queue/worker-jobs"),
  mutant("U19", "await before();", "void before();", "lifecycle/standby"),
  mutant(
    "S20",
    "const draining = others.filter(({ isDraining }) => isDraining);",
    "const draining = others.filter(() => false);",
    "agent-workers",
  ),
  mutant(
    "S24",
    "return this.#isRunning || this.#needsCleanUp;",
    "return this.#isRunning;",
    "lifecycle/container",
  ),
  mutant(
    "U70",
    "return this.#isRunning || this.#needsCleanUp;",
    "return (this.#isRunning && !this.#isFrozen) || this.#needsCleanUp;",
    "lifecycle/container",
  ),
  mutant("S25", "if (this.#left.size > 0) void this.#discardLater();", "", "unclaimed-containers"),

  // Scaling, hosts and pods
  mutant(
    "U20",
    "Math.max(full, busyWorkers + Math.ceil(normalQueued / jobsPerWorker))",
    "full",
    "scaling-plan",
  ),
  mutant(
    "U21",
    "if (!isUpToDate || !this.#parts.presence.isPromised(hostId, waiter))",
    "if (!isUpToDate)",
    "workers/presence",
  ),
  mutant(
    "U22",
    "mayHaveFollowed && record.version > read.version ? record.version + 1 : read.version;",
    "read.version;",
    "workers/pods.test",
  ),

  // Load-balanced requests
  mutant(
    "U23",
    "if (stream.isOverdue(now)) stream.break(OVERDUE);",
    "void stream;",
    "workers/overdue-requests",
  ),

  // Logs
  mutant("U24", "if (this.#isAdopted && this.#isRunning)", "if (this.#isRunning)", "lifecycle/container"),
  mutant(
    "G2",
    "from - (found.size === 0 ? LATE_MAX : CLOCK_STEP);",
    "from - (found.size === 0 ? LATE_MAX : 0);",
    "logs/worker-log.test",
  ),
  mutant(
    "U25",
    "if ((socket.deserializeAttachment() as Follower).follow > known) continue;",
    "",
    "workers/worker-logs",
  ),
  mutant("U26", "if (batch === this.#liveUnderway)", "", "logs/worker-lines"),
  mutant("U27", "if (isOver(outcome)) for (", "for (", "agent-logs"),
  mutant(
    "U89",
    "const host = store.hosts.get(hostId) ?? hostThatNeverCalled(named);",
    "const host = store.hosts.get(hostId); if (!host) return;",
    "workers/fleet",
  ),
  mutant("U91", "(!one.isMoving || now < arrivesAt(one)),", "!one.isMoving,", "workers/endpoint-shards"),
  mutant(
    "U90",
    "if (isFreeing) this.#hasRetired = false;",
    "this.#hasRetired = false;",
    "workers/capacity-sharing",
  ),
  mutant("U88", "if (own.length === 0) return undefined;", "return undefined;", "workers/capacity-sharing"),
  mutant(
    "U87",
    "share.pending !== undefined && now - share.pending.since < TAKE_MAX_MS;",
    "share.pending !== undefined;",
    "workers/log-quota",
  ),
  mutant(
    "U86",
    "return this.#isFollowed ? Math.min(this.#storedEnd, this.#liveEnd) : this.#storedEnd;",
    "return this.#storedEnd;",
    "logs/worker-lines",
  ),
  mutant("U83", "const overlapMs = log.lines.overlapMs(Date.now());", "const overlapMs = 0;", "agent-logs"),
  mutant("U84", "if (!known || known.jobId === undefined)", "if (!known)", "logs/log-collector"),
  mutant("U82", "if (!isSet && shown >= before.shown) return;", "return;", "logs/worker-log.test"),
  mutant("U81", "if (this.#strays.mayRun()) return null;", "", "queue/worker-jobs"),
  mutant(
    "U85",
    "if (this.#ended.size > ENDED_MAX) this.#findNoMore();",
    "this.#findNoMore();",
    "queue/worker-jobs",
  ),
  mutant("U28", "LOG_CLOCK_BEHIND_MS = 60_000", "LOG_CLOCK_BEHIND_MS = 5_000", "workers/worker-logs"),

  // Streams
  mutant(
    "U33",
    'if (event.kind === "retry") chunks.restart(seq);',
    'if (event.kind === "retry") chunks.remove(seq);',
    "workers/stream-events",
  ),

  // Requests on a link
  mutant("W5", "return !this.#isOpen;", "return false;", "agent/link-websocket"),
];
