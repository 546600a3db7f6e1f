/** Our description of REST v1 against what the service whose API this is documents. */
import { expect, test } from "vitest";
import hosted from "../clients/rest-v1-answers.json" with { type: "json" };
import { DOCUMENT } from "./documented-call.ts";

type Schema = {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, unknown>>;
};
type Components = { readonly schemas?: Readonly<Record<string, unknown>> };

/** Pages for people are at /docs. */
const OTHERWISE = ["GET /v1/docs"];

/** What nothing of ours could stand in. */
const ABSENT: Readonly<Record<string, string>> = {
  aiApiId: "pods that serve public models: there are none",
  diskSpaceBilledGb: "disks are not billed",
  highPerformanceStorageAmount: "volumes are not billed",
  highPerformanceStorageDiskSpaceBilledGb: "volumes are not billed",
};

test("every operation of the service is one of ours, and every member of its answers, but for those that cannot be", () => {
  const absent = Object.entries(hosted.answers).flatMap(([operation, answers]) => {
    const [method = "", path = ""] = operation.split(" ");
    const own = DOCUMENT.paths[path]?.[method.toLowerCase()];
    if (!own) return [operation];
    return Object.entries(answers).flatMap(([status, answer]) => {
      const content = own.responses[status]?.content?.["application/json"];
      if (!answer || !content) return [];
      const members = membersOf(content.schema as Schema, DOCUMENT.components as Components);
      return membersOf(answer, hosted.components).filter((member) => !members.includes(member));
    });
  });
  expect([...new Set(absent)].toSorted()).toEqual([...OTHERWISE, ...Object.keys(ABSENT)].toSorted());
});

/** Names of the members of an object, or of the objects of a list. */
function membersOf(schema: Schema, components: Components): readonly string[] {
  const { $ref, items, properties = {} } = schema;
  if ($ref !== undefined)
    return membersOf((components.schemas?.[$ref.split("/").at(-1) ?? ""] ?? {}) as Schema, components);
  return items ? membersOf(items, components) : Object.keys(properties);
}
