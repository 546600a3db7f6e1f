/** Carries out a plan, kind by kind. It may be killed at any moment and run again: nothing is created twice. */
import { referencedSecrets } from "../../src/domain/accounts/secret-reference.ts";
import { ServiceFailure, type Service } from "../service/service.ts";
import type { Step } from "../core/terminal.ts";
import type { Credentials } from "./credentials.ts";
import { KINDS, pendingId, planItems, withReferences, type Item, type Planned } from "./plan.ts";
import type { RecordFile } from "./record-file.ts";
import { checkItem, createItem, readTarget } from "./target.ts";

/** What became of an item; `targetId` is null while nothing is there. */
type Result = {
  readonly action: "create" | "created" | "present" | "differs" | "refused" | "failed";
  readonly targetId: string | null;
  readonly notes: readonly string[];
};

export type Outcome = Pick<Item, "kind" | "name" | "sourceId"> & Result;

export type Migration = {
  readonly service: Service;
  readonly items: readonly Item[];
  readonly record: RecordFile;
  readonly credentials: Credentials;
  /** False: nothing is written, neither there nor here. */
  readonly applies: boolean;
  readonly step: Step;
};

/** The outcome of every item. Throws a Failure where the service cannot go on at all. */
export async function migrate(migration: Migration): Promise<readonly Outcome[]> {
  const { service, items, record, step } = migration;
  const present = await readTarget(service);
  const known = new Map(KINDS.map((kind) => [kind, new Map<string, string>()]));
  const secrets = new Set(present.secret.map(({ name }) => name));
  const outcomes: Outcome[] = [];
  for (const kind of KINDS) {
    const resolved = items.filter((item) => item.kind === kind).map((item) => withReferences(item, known));
    for (const planned of planItems(resolved, present[kind], record.idsOf(kind))) {
      const { name, sourceId, notes } = planned.item;
      const result = await settle(migration, planned);
      if (isUsable(planned, result)) {
        known.get(kind)?.set(sourceId, result.targetId ?? pendingId(sourceId));
        if (kind === "secret") secrets.add(name);
      }
      const allNotes = [...result.notes, ...notes, ...missingSecrets(planned.item, secrets)];
      outcomes.push({ kind, name, sourceId, ...result, notes: allNotes });
      step.update(`${outcomes.length} of ${items.length}`);
    }
  }
  return outcomes;
}

/** Whether items that refer to it can be created. */
function isUsable({ decision }: Planned, { action }: Result): boolean {
  if (decision.action === "differs") return decision.isOurs;
  return action === "create" || action === "created" || action === "present";
}

async function settle(migration: Migration, { item, decision }: Planned): Promise<Result> {
  const { record, applies } = migration;
  const { action } = decision;
  if (action === "create") return await create(migration, item);
  if (action === "refused") return { action, targetId: null, notes: [decision.reason] };
  const { id: targetId } = decision;
  if (action === "differs") {
    const note = `is there with another ${decision.settings.join(", ")}; it stays as it is`;
    return { action, targetId, notes: [note] };
  }
  if (applies && record.idsOf(item.kind)[item.sourceId] !== targetId) {
    await record.add(item.kind, item.sourceId, targetId);
  }
  return { action, targetId, notes: [] };
}

async function create({ service, record, credentials, applies }: Migration, item: Item): Promise<Result> {
  const needsCredential = item.kind === "secret" || item.kind === "registry";
  const stored = needsCredential ? credentials.fromFile(item) : undefined;
  const isOpen = needsCredential && stored === undefined;
  const request = `you must enter it: ${credentials.variablesOf(item).join(" and ")} in the file of --secrets-from, or at a terminal`;
  if (!applies) {
    const rejection = await checkItem(service, item, stored).catch(messageOf);
    if (rejection !== undefined) return { action: "refused", targetId: null, notes: [rejection] };
    return { action: "create", targetId: null, notes: isOpen ? [request] : [] };
  }
  const credential = isOpen ? await credentials.ask(item) : stored;
  if (needsCredential && credential === undefined)
    return { action: "refused", targetId: null, notes: [request] };
  try {
    const targetId = await createItem(service, item, credential);
    await record.add(item.kind, item.sourceId, targetId);
    return { action: "created", targetId, notes: [] };
  } catch (error) {
    return { action: "failed", targetId: null, notes: [messageOf(error)] };
  }
}

/** Of an error that concerns one item alone; throws any other. */
function messageOf(error: unknown): string {
  if (!(error instanceof ServiceFailure) || error.code === "UNAUTHORIZED") throw error;
  return error.message;
}

function missingSecrets({ settings }: Item, secrets: ReadonlySet<string>): readonly string[] {
  const missing = Object.values(settings.env ?? {})
    .flatMap(referencedSecrets)
    .filter((name) => !secrets.has(name));
  return [...new Set(missing)].map(
    (name) => `uses secret ${name}, which is missing: its workers do not start`,
  );
}
