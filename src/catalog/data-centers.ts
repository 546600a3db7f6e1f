/** Places where hosts and network volumes can be, by the ids that clients know. */

export type DataCenter = {
  readonly id: string;
  /** Two letters, ISO 3166. */
  readonly countryCode: string;
  readonly location: string;
  readonly region: "NORTH_AMERICA" | "EUROPE" | "ASIA" | "OCEANIA";
};

/** Typed clients of REST v1 refuse an answer that names one of these. */
const UNKNOWN_TO_TYPED_CLIENTS: ReadonlySet<string> = new Set([
  "US-MD-1",
  "US-MO-1",
  "US-MO-2",
  "US-NC-2",
  "US-NE-1",
]);

/** Where a host is that does not say where it is. */
export const DEFAULT_DATA_CENTER_ID = "EU-RO-1";

const PLACES = {
  AU: ["Australia", "OCEANIA", ["OC-AU-1"]],
  CA: ["Canada", "NORTH_AMERICA", ["CA-MTL-1", "CA-MTL-2", "CA-MTL-3"]],
  CZ: ["Czech Republic", "EUROPE", ["EU-CZ-1"]],
  FR: ["France", "EUROPE", ["EU-FR-1"]],
  IS: ["Iceland", "EUROPE", ["EUR-IS-1", "EUR-IS-2", "EUR-IS-3"]],
  JP: ["Japan", "ASIA", ["AP-JP-1"]],
  NL: ["Netherlands", "EUROPE", ["EU-NL-1"]],
  NO: ["Norway", "EUROPE", ["EUR-NO-1"]],
  RO: ["Romania", "EUROPE", ["EU-RO-1"]],
  SE: ["Sweden", "EUROPE", ["EU-SE-1"]],
  US: [
    "United States",
    "NORTH_AMERICA",
    [
      "US-CA-2",
      "US-DE-1",
      "US-GA-1",
      "US-GA-2",
      "US-IL-1",
      "US-KS-2",
      "US-KS-3",
      "US-MD-1",
      "US-MO-1",
      "US-MO-2",
      "US-NC-1",
      "US-NC-2",
      "US-NE-1",
      "US-TX-1",
      "US-TX-3",
      "US-TX-4",
      "US-WA-1",
    ],
  ],
} as const satisfies Record<string, readonly [string, DataCenter["region"], readonly string[]]>;

export const DATA_CENTERS: readonly DataCenter[] = Object.entries(PLACES).flatMap(
  ([countryCode, [location, region, ids]]) => ids.map((id) => ({ id, countryCode, location, region })),
);

const byId = new Map(DATA_CENTERS.map((dataCenter) => [dataCenter.id, dataCenter]));

export function findDataCenter(id: string): DataCenter | undefined {
  return byId.get(id);
}

/** The data center that a host names, or the one where hosts are that name none we know. */
export function resolveDataCenter(dataCenterId: string | undefined): string {
  return findDataCenter(dataCenterId ?? "")?.id ?? DEFAULT_DATA_CENTER_ID;
}

/** Those of a country that all clients know. */
export function dataCentersOf(countryCode: string): readonly DataCenter[] {
  return DATA_CENTERS.filter(
    (dataCenter) => dataCenter.countryCode === countryCode && !UNKNOWN_TO_TYPED_CLIENTS.has(dataCenter.id),
  );
}
