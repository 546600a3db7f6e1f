/**
 * Mistakes that are planted into production code to see how soon a history shows them: the measure of the simulation.
 * Each is one that a change of that code could make. Not here are those of scripts/mutants that only a unit test can see:
 * A1, since the edge looks for replies to other calls among those that a call names as open, never for its own; A2,
 * since only an endpoint that was deleted while it had a worker is not found; E12, since a number is used again only
 * if a clock goes back to the very millisecond, or behind a page of which all 64 deliveries are over while one before it
 * is open. S26 is another mistake in the place of E12. S36 takes about a hundred histories with nothing but agents that
 * are killed and power that fails.
 */
import { MUTANTS } from "../../scripts/mutants/list.ts";
import { type Mutant, mutant } from "../../scripts/mutants/mutant.ts";

const OF_MUTANTS = new Set(
  "D1 D9 E1 E4 E5 E6 E7 E8 E13 F1 F2 F3 F4 F5 A3 A4 A5 A6 A7 A8 A10 A11 A12 D5 D14 E14 E15 S20 S23 S24 S25 G2 W5 U18".split(
    " ",
  ),
);

const OWN: readonly Mutant[] = [
  // The job machine
  mutant("S1", 'if (job.attempt !== attempt) return refused("attempt_replaced"); // M1', ""),
  mutant(
    "S2",
    'return isFinal(job.state) ? refused("already_final") : cancelled(job, now);',
    "return cancelled(job, now);",
  ),
  mutant("S3", 'return job.state === "failed" || job.state === "timed_out"', "return isFinal(job.state)"),
  mutant("T1", "if (!isSync) return RUN_RETENTION_MS;", "return RUN_RETENTION_MS;"),
  mutant("T2", "RUNSYNC_RETENTION_MS = 60_000;", "RUNSYNC_RETENTION_MS = 20_000;"),
  mutant("T3", "RUN_RETENTION_MS = 30 * 60_000;", "RUN_RETENTION_MS = 25 * 60_000;"),
  mutant(
    "T4",
    "for (const { seq, at } of this.#parts.store.deadlines(from, end, end - from)) {",
    "for (const { seq, at } of this.#parts.store.deadlines(from, end, 1)) {",
  ),
  mutant("T5", "|| now < standbyAt + FLASHBOOT_RETENTION_MS", "|| now > 0"),
  mutant("S4", "return now >= job.expiresAt || (job.removeAt", "return (job.removeAt"),

  // The object of an endpoint
  mutant(
    "S5",
    "const seq = this.#parts.store.seqOfKey(idempotencyKey);",
    "const seq: number | undefined = undefined;",
  ),
  mutant("S6", "if (isExpired(next.job, now)) {", "if (next.seq < 0) {"),
  mutant("S7", "Math.min(lease.expiresAt, lease.timeoutAt, ", "Math.min(lease.expiresAt, "),
  mutant("S8", "for (const lease of this.#parts.claims.running.values()) this.#holdLease(lease, now);", ""),
  mutant("S9", "notifier.notifyAgentsOfJobs(storage.claimable);", ""),
  mutant("S10", "this.#parts.handlers.markStopPending(hostId);", ""),
  mutant("S11", "outbox.add({ seq, end: after.retries, webhook: saved.webhook, goneAt }, now);", ""),
  mutant("S12", "outputs.slice(received + 1 - from); // C3", "outputs; // C3"),
  mutant("S13", "if (isNewAttempt) this.#removeChunks(seq); // C1", ""),
  mutant(
    "S14",
    "const callsWebhook = isFinal(after.state) && !isPurge;",
    'const callsWebhook = after.state === "completed" && !isPurge;',
  ),

  mutant(
    "S28",
    "const head = JSON.stringify({ ...view, webhook }).slice(0, -1);",
    'const head = JSON.stringify({ ...view, status: "FAILED", webhook }).slice(0, -1);',
  ),
  mutant(
    "S29",
    'if (isFinal(job.state)) return refused("already_final"); if (job.state !== "running") return refused("not_running");',
    'if (job.state !== "running" && job.state !== "completed") return refused("not_running");',
  ),
  mutant(
    "S30",
    "const left = isSuccess(attempt) ? 0 : delivery.left - 1; // D1",
    "const left = delivery.left - 1;",
  ),
  mutant("S26", "for (const { page, delivery } of pending) this.#schedule(page, delivery, now);", ""),
  mutant(
    "S27",
    "return ref.turn < call.turn && !call.openTurns.includes(ref.turn);",
    "return ref.turn < call.turn;",
  ),
  mutant(
    "S32",
    'if (state === "completed") this.#counts.completed += 1;',
    'if (state === "completed") this.#counts.completed += 2;',
  ),

  // The order of the queue, and the places of those that wait
  mutant("K1", 'return normals > 0 ? [["normal", normals]] : [["low", 1]];', 'return [["low", 1]];'),
  mutant(
    "K2",
    'if (requeued.length > 0) return { jobs: requeued, kind: "requeued" };',
    'if (requeued.length > 0 && queued[priority] === requeued.length) return { jobs: requeued, kind: "requeued" };',
  ),
  mutant(
    "K3",
    "if (seq >= head) return this.#requeued[priority] + seq - head + 1;",
    "if (seq >= head) return this.#requeued[priority] + seq - head;",
  ),

  // Scaling
  mutant(
    "K4",
    "Math.min(Math.max(workers, config.workersMin), config.workersMax);",
    "Math.min(workers, config.workersMax);",
  ),

  // Purges
  mutant("Q1", "this.#bounds[priority] = { head: tail, tail };", ""),
  mutant("Q2", "const count = ledger.queued;", "const count = ledger.counts.queued.low;"),

  // Batches
  mutant(
    "B1",
    "if (!isActive(batch, progress)) this.#index.put(",
    "if (progress.waiting === 0) this.#index.put(",
  ),
  mutant(
    "B2",
    "const batches = index.newestFirst.slice(offset, offset + limit)",
    "const batches = index.newestFirst.slice(offset, limit)",
  ),
  mutant("B3", "idempotencyKey === null ? undefined : index.findByKey(idempotencyKey);", "undefined;"),
  mutant(
    "B4",
    "return this.#put({ ...batch, requestCount, nextRequest, storedBytes }, now);",
    "return this.#put({ ...batch, requestCount, storedBytes }, now);",
  ),

  mutant(
    "B5",
    'if (stored?.job.state === "queued") queue.apply(stored, { kind: "cancel" }, now);',
    'if (stored) queue.apply(stored, { kind: "cancel" }, now);',
  ),

  // Logs of webhooks, and webhooks once more
  mutant(
    "H3",
    "Math.ceil((endedAt + WEBHOOK_RETRY_MS) / 1_000) * 1_000;",
    "Math.ceil(endedAt / 1_000) * 1_000;",
  ),
  mutant("H4", "const WEBHOOK_RETRY_MS = 10_000;", "const WEBHOOK_RETRY_MS = 20_000;"),
  mutant(
    "H1",
    `page.deliveries.set(seq, delivery);
    this.#changed.add(page);
    this.#schedule(page, delivery, now);`,
    `page.deliveries.set(seq, delivery);
    this.#changed.add(page);`,
  ),
  mutant("H2", "[...delivery.attempts, attempt].slice(-WEBHOOK_LOG_MAX)", "[attempt]"),

  // Lists of jobs
  mutant("J1", "(b && (!a || b.job.createdAt > a.job.createdAt) ? b : a)", "(b && !a ? b : a)"),
  mutant(
    "J2",
    "kept.completed + kept.failed + kept.cancelled + kept.timed_out;",
    "kept.completed + kept.failed + kept.timed_out;",
  ),
  mutant(
    "J3",
    'if (state === null || state === "queued" || state === "cancelled") {',
    'if (state === null || state === "queued") {',
  ),

  // Waiting for ends, and events of streams
  mutant(
    "V1",
    `notifyJob(seq: number, now: number): void {
    for (const topic of TOPICS) this.#notify(topic, seq, now);`,
    `notifyJob(seq: number, now: number): void {
    for (const topic of TOPICS) this.#calls[topic].wake(seq, "look");`,
  ),
  mutant(
    "V3",
    'if (event.kind === "retry") chunks.restart(seq);',
    'if (event.kind === "retry") chunks.remove(seq);',
  ),
  mutant("V2", "return Number.isSafeInteger(id) && id > 0 ? id : 0;", "return 0;"),

  // OpenAI's API
  mutant("O1", 'if (step.view.status !== "COMPLETED") return this.#fail(errorOfJob(step.view));', ""),
  mutant("O2", "(stub) => stub.abandon(this.#jobId)", "(stub) => stub.health()"),
  mutant(
    "O3",
    'if (frame !== "" && !(await this.#events.write(frame))) return await this.#leave();',
    'if (frame !== "" && !(await this.#events.write(frame + frame))) return await this.#leave();',
  ),

  // Metrics
  mutant("M1", "for (const { job } of ran) this.#recoverClaimed(job);", ""),
  mutant(
    "M2",
    "this.#count(at).requests += count; this.#total.counts.requests += count;",
    "this.#count(at).requests += count;",
  ),
  mutant("M3", "this.#counters.retried(after.retries - before.retries);", "this.#counters.retried(1);"),

  // Limits
  mutant("R2", "if (isRejection(error)) context.executionCtx", "context.executionCtx"),
  mutant("R3", "return this.count(now) >= limit;", "return this.count(now) > limit;"),
  mutant(
    "R4",
    "if (this.#inside + this.#outside.size < limit) return false;",
    "if (this.#inside + this.#outside.size < limit - 1) return false; limit -= 1;",
  ),
  mutant("R1", "maxBytes: RUN_BODY_MAX_BYTES,", "maxBytes: 2 * RUN_BODY_MAX_BYTES,"),

  // Fleet and gateway
  mutant("S15", "if (config?.accountId === accountId) return config;", "if (config) return config;"),

  // Deletion of endpoints
  mutant("X1", "await removePayloads(this.env.PAYLOADS, config.endpointId);", ""),
  mutant("X2", "await this.ctx.storage.deleteAll();", ""),
  mutant("X3", "await announceRemoval(context, { id: endpointId, accountId });", ""),
  mutant("X4", 'workers.stopJob(ref.endpointId, { jobId, attempt, reason: "expired" });', ""),

  // Objects that share the queue of an endpoint
  mutant(
    "SH1",
    "return !this.#parts.isOffered(from, workerId) && this.#hasNoOtherJobs(workerId, to);",
    "return !this.#parts.isOffered(from, workerId);",
  ),
  mutant(
    "SH2",
    "return !this.#parts.isOffered(from, workerId) && this.#hasNoOtherJobs(workerId, to);",
    "return this.#hasNoOtherJobs(workerId, to);",
  ),
  mutant("SH3", "this.#exchangeOf(ref).greet();", "this.#exchangeOf(ref);"),
  mutant(
    "SH4",
    "lead.isLeading ? slots.filter(({ workerId }) => lending.isHere(workerId)) : slots;",
    "slots;",
  ),
  mutant("SH5", "before.report === report &&", ""),
  mutant("SH6", "known && !request.idempotencyKey ? choose(known) : 0;", "known ? choose(known) : 0;"),
  mutant(
    "SH7",
    "if (active >= wanted || !calls.areConfigured(wanted)) return;",
    "if (active >= wanted) return;",
  ),
  mutant("SH8", "Math.max(1, this.#jobsIn(shard, workerId))", "this.#jobsIn(shard, workerId)"),
  mutant("SH9", "returning.length === 0 || this.loansOf(hostId).number !== shards", "returning.length === 0"),
  mutant("SH10", "await this.#shard(other).remove();", ""),
  mutant("SH11", "removed: removed + (await sums.purge())", "removed"),
  mutant(
    "SH12",
    "if (isScarce || this.#now >= worker.freeSinceAt + idleTimeoutMs) this.#move(worker, 0);",
    "",
  ),
  mutant("SH13", "return this.#outline !== this.#reported;", "return this.#reportedAt === 0;"),
  mutant("SH14", "lending.forgetGone();", ""),
  mutant(
    "SH15",
    "if (id?.shard !== this.#parts.store.shard) return undefined;",
    "if (!id) return undefined;",
  ),

  // Between accounts
  mutant("I1", "const current = this.#pools.get(accountId);", "const [current] = this.#pools.values();"),
  mutant("I2", ".where(isOwn(pod, accountId, podId))", ".where(eq(pod.id, podId))"),
  mutant(
    "I3",
    `.select()
    .from(endpoint)
    .where(isOwn(endpoint, accountId, endpointId))`,
    ".select().from(endpoint).where(eq(endpoint.id, endpointId))",
  ),
  mutant(
    "I4",
    `.from(endpoint)
    .where(eq(endpoint.accountId, accountId))
    .orderBy(`,
    ".from(endpoint).orderBy(",
  ),
  mutant("I5", ".where(isOwn(host, accountId, hostId))", ".where(eq(host.id, hostId))"),
  mutant(
    "I6",
    `if (endpoint?.accountId === accountId)
    return {`,
    "if (endpoint) return {",
  ),

  // Hosts that are cordoned and drained
  mutant(
    "Y1",
    `store.saveHost(host);
    pools.changed(hostId);
    this.#reviewWorkersOn(hostId);`,
    `store.saveHost(host);
    this.#reviewWorkersOn(hostId);`,
  ),
  mutant(
    "Y2",
    "const leaving = goal ? active.filter(({ isDrained }) => isDrained) : active;",
    "const leaving = goal ? [] : active;",
  ),
  mutant(
    "Y3",
    "const isClosed = !host || host.isCordoned || isDraining(host);",
    "const isClosed = !host || isDraining(host);",
  ),

  // Hosts that are removed
  mutant("HR1", "for (const worker of store.workersOn(hostId)) this.#remove(worker);", ""),
  mutant("HR2", "pools.expel(hostId);\n    presence.forget(hostId);", "presence.forget(hostId);"),

  // Errors that only the runtime sees
  mutant(
    "EK1",
    `await this.#writer.write(this.#encoder.encode(text));
      return true;
    } catch {
      return false;
    }`,
    `await this.#writer.write(this.#encoder.encode(text));
      return true;
    } catch (error) {
      throw error;
    }`,
  ),

  // API keys
  mutant("Z1", "forgetApiKey(apiKeyId);", ""),
  mutant(
    "Z2",
    "return expiresAt !== null && expiresAt <= now;\n}",
    "return expiresAt !== null && expiresAt <= now - 3_600_000;\n}",
  ),

  // What a status can do
  mutant("Z3", "if (isFinal(job.state)) events.push(endOf(job));", ""),
  mutant(
    "Z4",
    "return Math.min(now + ttlMs, job.createdAt + TTL_MAX_MS);",
    "return job.createdAt + TTL_MAX_MS;",
  ),
  mutant(
    "Z5",
    'return s3Config ? spliceJson(options, "s3Config", s3Config.json) : JSON.stringify(options);',
    "return JSON.stringify(options);",
  ),

  // Pods
  mutant(
    "P1",
    'if (!pod?.config.isInterruptible || pod.desired === "stopped") return [];',
    'if (!pod || pod.desired === "stopped") return [];',
  ),
  mutant(
    "P2",
    "const isSame = keepsPlace(pod, next) && worker.version === pod.version;",
    "const isSame = true;",
  ),
  mutant("P3", "return podWorkers.hasLeft(worker);", "return worker;"),

  // Workers on standby
  mutant(
    "Z6",
    ".filter(({ version, isClosed }) => version === config.version && !isClosed)",
    ".filter(({ isClosed }) => !isClosed)",
  ),

  // Load-balanced requests
  mutant(
    "L1",
    'const isReturned = reset.data.reason === "worker_gone" && !this.#head',
    "const isReturned = !this.#head",
  ),
  mutant(
    "L2",
    "this.#writer?.abort(new Error(detail)).catch(ignoreFailure);",
    "this.#writer?.close().catch(ignoreFailure);",
  ),
  mutant(
    "L3",
    `    this.#options.channel.drop();
    this.#request.destroy();`,
    "this.#options.channel.drop();",
  ),
  mutant("L4", "isIdle: this.#requests.size === 0 || this.#grace?.isOver === true, // V2", "isIdle: true,"),

  // Logs
  mutant("G1", "if (isSame && this.#repeatedCount > 0) {", "if (isSame && this.#repeatedCount > 1) {"),
  mutant("G3", "if (lines.every(isOfPod)) return { owner, workers: lines };", ""),
  mutant("G4", "this.#dropped += dropped;", ""),
  mutant(
    "G6",
    "return this.#isFollowed ? Math.min(this.#storedEnd, this.#liveEnd) : this.#storedEnd;",
    "return this.#storedEnd;",
  ),
  mutant("G5", "return this.#rate.take(bytes + LINE_BYTES, Date.now());", "return true;"),

  // WebSockets
  mutant(
    "W1",
    "if (this.#isOver || !this.#closing || !this.#toAgent.isEmpty) return;",
    "if (this.#isOver || !this.#closing) return;",
  ),

  // Requests to pods
  mutant(
    "W2",
    `  request.signal.addEventListener("abort", () => abort("aborted"));
  requireClient(request.signal);
  const client`,
    "  const client",
  ),

  // Commands in containers
  mutant("W3", "await command?.kill();", ""),

  // Connections that are kept
  mutant("W4", "const CONNECTION_IDLE_MS = 1_000;", "const CONNECTION_IDLE_MS = 60_000;"),

  // The agent
  mutant("S16", "this.#write(records, () => this.#journal.addAttempts(records));", ""),
  mutant("S37", "for (const write of this.#writes.values()) write();", ""),
  mutant("S17", "await this.#loseOrphanedAttempts([...attempts.values()].flat());", ""),
  mutant(
    "S18",
    "const unclaimed = found.filter((worker) => !this.#workers.has(worker.workerId));",
    "const unclaimed: typeof found = [];",
  ),
  mutant("S19", "worker.mode.jobs.expectStrays();", ""),
  mutant("S21", "if (!entry || entry.isSettled) return false; // A2", "if (!entry) return false;"),
  mutant("S22", "if (!isWaiting && inside) this.#stops.begin(inside, reason);", ""),
  mutant(
    "S33",
    "await notifier.waitUntil(delayMs, () => isDraining() || this.#isRenewed || signal.aborted);",
    "await notifier.waitUntil(1e9, () => isDraining() || this.#isRenewed || signal.aborted);",
  ),
  mutant("S34", "if (!isCurrent || !shouldMove(worker, now)) continue;", "continue;"),
  mutant("S35", "drainGraceMs: 10_000,", "drainGraceMs: 120_000,"),
  mutant(
    "S36",
    `saveSetting(name: string, value: string): void {
    this.#writeToDisk(() =>
      this.#run("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", name, value),
    );`,
    `saveSetting(name: string, value: string): void {
    this.#run("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", name, value);`,
  ),

  // Placement
  mutant(
    "N1",
    ".filter((gpu) => gpu.tier === tier && !excludedModels.includes(gpu.name))",
    ".filter((gpu) => gpu.tier === tier)",
  ),
  mutant("N2", "if (free.length < count || !contains(capacity.free, size)) {", "if (free.length < count) {"),
  mutant(
    "N3",
    'if (gpuTiers.length > 0) return gpuTiers.map((tier) => ({ kind: "gpu", tier, ...declared }));',
    'if (gpuTiers.length > 0) return gpuTiers.toSorted().map((tier) => ({ kind: "gpu", tier, ...declared }));',
  ),
  mutant(
    "N4",
    "for (const request of resourceRequests(requirement)) {\n      let evicting",
    "for (const request of resourceRequests(requirement).slice(0, 1)) {\n      let evicting",
  ),
  mutant("N5", "diskMb: diskOf(requirement),", "diskMb: 0,"),
  mutant(
    "N6",
    "return size.cpuMilli <= free.cpuMilli && size.memoryMb <= free.memoryMb && size.diskMb <= free.diskMb;",
    "return size.memoryMb <= free.memoryMb && size.diskMb <= free.diskMb;",
  ),
  mutant(
    "N7",
    "return size.cpuMilli <= free.cpuMilli && size.memoryMb <= free.memoryMb && size.diskMb <= free.diskMb;",
    "return size.cpuMilli <= free.cpuMilli && size.diskMb <= free.diskMb;",
  ),

  // Templates
  mutant(
    "OP1",
    "...(stored ?? defaultsOf(templateFields)),",
    "...stored, ...defaultsOf(templateFields), // what is left out is lost",
  ),
  mutant(
    "OP2",
    "unchangedAndNameFree(db, read, values.name),\n    isNewCredential",
    "unchangedAndNameFree(db, read, values.name) && eq(template.id, read.id),\n    isNewCredential",
  ),
  mutant(
    "OP3",
    "if (await deleteTemplateIfUnused(context.db, authorOf(context), template)) return template;",
    "if (template.isServerless) return template;",
  ),
  mutant(
    "OP4",
    ".set({ ...values, rowVersion: read.rowVersion + 1, updatedAt: author.now })\n    .where(mayChange)\n    .returning();",
    ".set({ ...values, env: read.env, rowVersion: read.rowVersion + 1, updatedAt: author.now })\n    .where(mayChange)\n    .returning();",
  ),

  // Calls that are told twice, and clients that leave at once
  mutant("OP8", "if (await isEndpointRemovalOpen(context.db, accountId, endpointId)) return true;", ""),
  mutant("OP9", "requireClient(request.signal);", ""),

  // Secrets
  mutant(
    "OP5",
    `.set({ ...change, updatedAt: author.now })
      .where(isOwn(secret, author.accountId, read.id))`,
    `.set({ updatedAt: author.now })
      .where(isOwn(secret, author.accountId, read.id))`,
  ),
  mutant("OP7", "JSON.stringify(assignmentOutlineSchema.parse(assignment)),", "JSON.stringify(assignment),"),

  // Pods that give way
  mutant("N8", "return a.cost - b.cost || a.age", "return b.cost - a.cost || a.age"),
  mutant("N9", "age: -pod.changedAt", "age: pod.changedAt"),

  // What an agent has left when it starts again
  mutant("LC1", "entry.needsUpload = hasOutput;", "entry.needsUpload = false;"),
  mutant("LC2", "entry.chunksReceived = span.first - 1;", "entry.chunksReceived = span.last;"),

  // When workers come
  mutant(
    "GR1",
    "const dueAt = Math.max(load.oldestQueuedAt, grownAt) + delayMs;",
    "const dueAt = load.oldestQueuedAt + delayMs;",
  ),
  mutant(
    "GR2",
    "const dueAt = Math.max(load.oldestQueuedAt, grownAt) + delayMs;",
    "const dueAt = Math.max(load.oldestQueuedAt, grownAt) + delayMs / 2;",
  ),
  mutant(
    "GR3",
    "const running = load.normalQueued > 0 ? load.running : load.normalRunning;",
    "const running = load.running;",
  ),
  mutant(
    "GR4",
    "return Math.ceil((load.normalQueued + running) / Math.max(1, perWorker));",
    "return Math.ceil((load.normalQueued + running) / Math.max(1, perWorker)) + 1;",
  ),

  // Outputs
  mutant(
    "OU1",
    "{ range: { offset: 0, length: sizeBytes } }",
    "{ range: { offset: 0, length: sizeBytes - 1 } }",
  ),

  // When idle workers leave
  mutant("IT1", "return idleTimeoutSeconds * 1_000;", "return 0;"),
  mutant("IT2", "return idleTimeoutSeconds * 1_000;", "return idleTimeoutSeconds * 60_000;"),

  // Limits of requests that no object counts
  mutant(
    "Y4",
    "if (count > EDGE_RATE_LIMITS[limited].requests) return true;",
    "if (count % 25 === 0) return true;",
  ),

  // Alarms
  mutant(
    "S31",
    `await this.#commit.run(() => {
      this.#registry.removeLost(Date.now());`,
    `if (Math.random() < 0.3) throw new TypeError("planted in the alarm");
    await this.#commit.run(() => {
      this.#registry.removeLost(Date.now());`,
  ),

  // Endpoints that share GPUs
  mutant("GW1", "return this.#isUnsent && !this.#isSending && now >= this.#dueAt;", "return false;"),
  mutant("GW2", "new Set(workersIn(contention?.whenFree ?? NONE, reported))", "new Set<string>()"),
  // Workers that share a GPU
  mutant(
    "GM1",
    "return this.takenMbOf(index) + gpuMemoryMb <= memoryMb;",
    "return this.takenMbOf(index) < memoryMb;",
  ),
  mutant(
    "GM2",
    "if (gpuMemoryMb === undefined) return this.isFree({ index });",
    "if (gpuMemoryMb === undefined) return this.takenMbOf(index) < memoryMb;",
  ),
  mutant(
    "GM3",
    "({ assignment }) => assignment.gpuMemoryMb === undefined || !this.#fitsBeside(outline, all),",
    "({ assignment }) => assignment.gpuMemoryMb === undefined,",
  ),
  mutant(
    "GM4",
    ": capacity.shareOf(requirement.gpuCount * partOf(request.gpuMemoryMb, card?.memoryMb ?? 0));",
    ": capacity.shareOf(requirement.gpuCount);",
  ),
  mutant("GW3", "if (statement.number !== this.#number) return;", "return;"),
];

export const PLANTED: readonly Mutant[] = [...MUTANTS.filter(({ id }) => OF_MUTANTS.has(id)), ...OWN];

/**
 * What histories show of these takes more than some hundred of them: an agent that dies within milliseconds of a chunk,
 * a stop that a worker ignores while another job waits behind, a sync that was overtaken, a stray 404 in a certain
 * moment. Tests of their own notice them at once.
 */
export const RARE: ReadonlySet<string> = new Set("A3 A7 A8 A12 S8 S36 V3 O1".split(" "));
