/** One small fault of the code that a test must notice. */
export type Mutant = {
  readonly id: string;
  /** Source that occurs exactly once below `src` and `node-agent`, however it is broken into lines. */
  readonly snippet: string;
  readonly replacement: string;
  /** Parts of the names of test files, the quickest first. */
  readonly tests: readonly string[];
  /** Why no test can notice it. */
  readonly equivalent?: string;
};

const mutant = (id: string, snippet: string, replacement: string, ...tests: string[]): Mutant => ({
  ...{ id, snippet, replacement, tests },
});

export const MUTANTS: readonly Mutant[] = [
  // The job machine and the decisions of the domain
  mutant("D1", "job.rescues < RESCUE_LIMIT", "job.rescues <= RESCUE_LIMIT", "job-machine", "queue-attempts"),
  mutant("D2", "rescues: 0, queuedAt: now,", "queuedAt: now,", "job-machine"),
  mutant("D3", "now >= job.expiresAt ||", "now > job.expiresAt ||", "job-machine", "workers/policies"),
  mutant("D4", "Math.min(now + ttlMs, job.createdAt + TTL_MAX_MS)", "now + ttlMs", "job-machine"),
  mutant(
    "D5",
    "load.normalQueued > 0 ? load.running : load.normalRunning",
    "load.normalRunning",
    "scaling-plan",
  ),
  mutant(
    "D6",
    "Math.max(load.oldestQueuedAt, grownAt) + delayMs",
    "load.oldestQueuedAt + delayMs",
    "scaling-plan",
  ),
  mutant("D7", "Math.max(0, workers.length - floor)", "workers.length", "scaling-plan"),
  mutant("D8", 'gpuCount > 1 ? "least free"', 'gpuCount > 2 ? "least free"', "host-pool"),
  mutant("D9", "if (current) this.#removeFromIndexes(current);", "", "host-pool", "workers/standby"),
  mutant("D10", "staying.length >= desired", "staying.length > desired", "fleet-plan", "workers/placer"),
  mutant(
    "D11",
    "Math.max(workersMin, desired - add + 1)",
    "Math.max(workersMin, desired - add)",
    "fleet-plan",
    "workers/placer",
  ),
  mutant("D12", "LOW_PRIORITY_EVERY - 1 - normalsInARow", "LOW_PRIORITY_EVERY - normalsInARow", "priorities"),
  mutant("D13", "(place - 1 + normalsInARow)", "(place + normalsInARow)", "priorities"),
  mutant("D14", "bucket - BUCKETS + 1);", "bucket - BUCKETS + 2);", "rate-window"),
  mutant("D15", "freed >= count", "freed > count", "rate-window", "rate-limits"),
  mutant(
    "D16",
    "[...delivery.attempts, attempt].slice(-WEBHOOK_LOG_MAX)",
    "[...delivery.attempts, attempt]",
    "webhook-delivery",
  ),
  mutant("D17", "attempt.at + attempt.durationMs", "attempt.at", "webhook-delivery"),
  mutant("D18", "at <= taken.at + JITTER_MS", "at <= taken.at", "domain/jobs/timeline"),
  mutant("D19", "diskMb -= size.diskMb;", "", "placement/standby"),
  mutant("D20", "version === config.version && !isClosed", "version === config.version", "placement/standby"),
  mutant("D21", "outdated.slice(0, index + 1)", "outdated.slice(0, index + 2)", "eviction-sets"),
  mutant("D22", "if (count > fewest) continue;", "", "fleet-plan"),
  mutant("D23", "(isSuspect ? 2 : 0)", "(isSuspect ? 1 : 0)", "balancer"),
  mutant("D24", "surplus === 0 && chosen.includes(worker)", "chosen.includes(worker)", "rollout-plan"),
  mutant("D25", "retries: job.retries + 1 })", "retries: job.retries })", "job-machine", "queue-attempts"),

  // The object of an endpoint
  mutant(
    "E1",
    'if (event.kind === "retry") chunks.remove(seq);',
    "",
    "workers/operations-table-states",
    "workers/stream",
  ),
  mutant(
    "E4",
    'if (kind === "requeued") this.#isCheckpointDue = true;',
    'if (kind === "requeued") {}',
    "queue-model",
  ),
  mutant(
    "E5",
    'before.state !== "running" || after.state === "queued"',
    'before.state !== "running"',
    "queue-model",
  ),
  mutant(
    "E6",
    "if (ref.session !== call.session) return true;",
    "if (ref.session !== call.session) return false;",
    "workers/fleet",
    "workers/queue-",
  ),
  mutant(
    "E7",
    "if (newest?.session === call.session && newest.turn > call.turn) return false;",
    "",
    "workers/fleet",
    "workers/queue-",
  ),
  mutant(
    "E8",
    "(hasOutput(stored, output.key) || isRunning(stored, attempt))",
    "false",
    "workers/large",
    "workers/queue-",
  ),
  mutant("E10", "ledger.queued >= depthMax", "ledger.queued > depthMax", "rate-limits"),
  mutant("E11", "this.#sending.delete(sent.seq);", "", "webhook-outbox", "workers/webhooks"),
  mutant(
    "E12",
    "Math.max(this.#lastNumber, pages.at(-1)?.number ?? 0)",
    "pages.at(-1)?.number ?? 0",
    "webhook-outbox",
  ),
  mutant(
    "E13",
    "if (this.#desired === sent) this.#save({ ...sent, isSent: true });",
    "this.#save({ ...this.#desired, isSent: true });",
    "workers/scaling",
  ),
  mutant(
    "E14",
    "newer.length <= eviction.placed",
    "newer.length < eviction.placed",
    "workers/rollout",
    "workers/release",
  ),
  mutant("E15", "(stalledSince ?? now)", "now", "workers/rollout", "workers/release"),

  // The fleet
  mutant("F1", 'worker.retiredIn === null ? report.state : "stopping"', "report.state", "workers/fleet"),
  mutant(
    "F2",
    "call.appliedRevision >= worker.retiredIn",
    "call.appliedRevision > worker.retiredIn",
    "workers/fleet",
  ),
  mutant(
    "F3",
    "if (heard?.presence !== presence) return false;",
    "if (!heard) return false;",
    "workers/agent-hosts",
    "workers/presence",
  ),
  mutant(
    "F4",
    "!isActive(worker) || epochOf(worker) !== epoch) continue;",
    "!isActive(worker)) continue;",
    "workers/scaling",
    "workers/standby",
  ),
  mutant("F5", "since: previous?.since ?? now })", "since: now })", "workers/placer", "workers/queue-reason"),

  // The agent
  mutant(
    "A1",
    "const body = this.#encode(turn); this.#open.set(turn.turn, turn); // T1",
    "this.#open.set(turn.turn, turn); const body = this.#encode(turn);",
    "agent-delivery",
    "agent-jobs",
  ),
  mutant(
    "A2",
    "outcome.status === 404 && !this.#hasWorkers()",
    "outcome.status === 404",
    "agent-edge",
    "agent-removed",
  ),
  mutant(
    "A3",
    "entry.chunksReceived = span.first - 1;",
    "entry.chunksReceived = span.first;",
    "agent-stream",
  ),
  mutant("A4", "entry.isSettled = false;", "", "agent-disk"),
  mutant(
    "A5",
    'this.#run("DELETE FROM attempt WHERE job_id = ? AND attempt = ?", report.jobId, report.attempt);',
    "",
    "journal",
    "agent-restart",
  ),
  mutant("A6", "body !== null && !delivered.stop", "body !== null", "agent-stops", "agent-delivery"),
  mutant("A7", "this.#waiting = waiting;", "", "agent-delivery", "agent-jobs"),
  mutant(
    "A8",
    "if (sync.number > this.#appliedNumber || reply.revision > this.#appliedRevision) {",
    "{",
    "agent-presence",
    "agent-edge",
    "agent-workers",
  ),
  mutant(
    "A10",
    "!reportsUnderway.has(report) && ledger.hasSentAllChunks(report, chunks)",
    "!reportsUnderway.has(report)",
    "exchange-plan",
    "agent-stream",
  ),
  mutant("A11", "this.#hasNews = true; // the edge shall hear", "// the edge shall hear", "agent-delivery"),
];
