/** The edge, and the object that shows how the runtime treats objects. */
import { DurableObject } from "cloudflare:workers";
import { subjectClass } from "../simulation/conformance/subject-object.ts";

export * from "../../src/index.ts";
// oxlint-disable-next-line import/no-default-export -- the script of the edge
export { default } from "../../src/index.ts";

export class SubjectObject extends subjectClass(DurableObject) {}
