/** What a migration has to do: the items of the old account compared with those of the new one. */

/** In the order in which they are created: each may refer to those before it. */
export const KINDS = ["ssh-key", "secret", "registry", "volume", "template", "endpoint"] as const;
export type Kind = (typeof KINDS)[number];

/** Settings as Edgerun's management API spells them; a template's are beside those of its endpoint. */
export type Settings = Readonly<Record<string, unknown>> & {
  readonly env?: Readonly<Record<string, string>>;
  /** Present for a template that has a registry credential. */
  readonly containerRegistryAuthId?: string | undefined;
  readonly networkVolumeIds?: readonly string[] | undefined;
};

/** Something of the old account. */
export type Item = {
  readonly kind: Kind;
  readonly sourceId: string;
  readonly name: string;
  /** What is sent and compared; undefined and null ones are neither. */
  readonly settings: Settings;
  /** Present for a secret; sent, not compared. */
  readonly description?: string | undefined;
  /** What changes or is lost, for the report. */
  readonly notes: readonly string[];
  /** Why it cannot be migrated at all. */
  readonly problem?: string | undefined;
};

/** Something of the new account. */
export type Present = {
  readonly id: string;
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
};

/** Ids of the new account by those of the old one. */
export type Ids = Readonly<Record<string, string>>;

export type Decision =
  | { readonly action: "create" }
  | { readonly action: "present"; readonly id: string }
  /** `isOurs`: a migration made it, so what refers to it can use it. */
  | { readonly action: "differs"; readonly id: string; readonly isOurs: boolean; readonly settings: string[] }
  | { readonly action: "refused"; readonly reason: string };

export type Planned = { readonly item: Item; readonly decision: Decision };

/**
 * Finds the counterpart of each item of one kind: the one that an earlier migration recorded, else one of the same name
 * and settings, else one of the same name, each for one item only. What has none is created.
 */
export function planItems(
  items: readonly Item[],
  present: readonly Present[],
  recorded: Ids,
): readonly Planned[] {
  const counterparts = new Map<Item, Present>();
  const taken = new Set<Present>();
  const claim = (isCounterpart: (item: Item, candidate: Present) => boolean): void => {
    for (const item of items.filter((one) => !counterparts.has(one))) {
      const found = present.find((candidate) => !taken.has(candidate) && isCounterpart(item, candidate));
      if (found === undefined) continue;
      counterparts.set(item, found);
      taken.add(found);
    }
  };
  claim((item, { id }) => Object.hasOwn(recorded, item.sourceId) && recorded[item.sourceId] === id);
  claim((item, candidate) => item.name === candidate.name && differences(item, candidate).length === 0);
  claim((item, { name }) => item.name === name);
  return items.map((item) => ({ item, decision: decide(item, counterparts.get(item), recorded) }));
}

function decide(item: Item, counterpart: Present | undefined, recorded: Ids): Decision {
  if (item.problem !== undefined) return { action: "refused", reason: item.problem };
  if (counterpart === undefined) return { action: "create" };
  const { id } = counterpart;
  const settings = differences(item, counterpart);
  if (settings.length === 0) return { action: "present", id };
  return { action: "differs", id, isOurs: recorded[item.sourceId] === id, settings };
}

/** Names of the settings that the item has and its counterpart has otherwise. */
function differences({ name, settings }: Item, present: Present): string[] {
  const changed = Object.entries(settings)
    .filter(
      ([key, value]) =>
        value !== undefined && value !== null && comparable(value) !== comparable(present.settings[key]),
    )
    .map(([key]) => key);
  return name === present.name ? changed : ["name", ...changed];
}

/** Null and empty values are one; the order of an object's members does not count. */
function comparable(value: unknown): string {
  if (value === undefined || value === null || value === "" || value === false) return "";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? "" : JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.length === 0 ? "" : JSON.stringify(entries);
}

const PENDING = "the id that the migration gives to ";

/** Stands for the id of an item that is not there yet. */
export function pendingId(sourceId: string): string {
  return `${PENDING}${sourceId}`;
}

/** The item without references to items that are not there yet. */
export function withoutPending(item: Item): Item {
  const { containerRegistryAuthId: registry, networkVolumeIds } = item.settings;
  const isThere = (id: string) => !id.startsWith(PENDING);
  const settings = {
    ...item.settings,
    containerRegistryAuthId: registry && isThere(registry) ? registry : undefined,
    networkVolumeIds: networkVolumeIds?.filter(isThere),
  };
  return { ...item, settings };
}

/** Ids that are known so far, by kind: those of what is there, and of what was created. */
export type KnownIds = ReadonlyMap<Kind, ReadonlyMap<string, string>>;

/** The item with references to other items replaced by ids of the new account; refused where one has none. */
export function withReferences(item: Item, known: KnownIds): Item {
  const { containerRegistryAuthId: registry, networkVolumeIds: volumes } = item.settings;
  const missing: string[] = [];
  const idOf = (kind: Kind, sourceId: string): string => {
    const id = known.get(kind)?.get(sourceId);
    if (id === undefined) missing.push(`${kind} ${sourceId}`);
    return id ?? sourceId;
  };
  const settings = {
    ...item.settings,
    containerRegistryAuthId: registry && idOf("registry", registry),
    networkVolumeIds: volumes?.map((id) => idOf("volume", id)),
  };
  const problem = missing.length === 0 ? undefined : `needs ${missing.join(" and ")}, which is not migrated`;
  return { ...item, settings, problem: item.problem ?? problem };
}
