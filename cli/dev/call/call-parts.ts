import type { Service } from "../../service/service.ts";
import type { LiveSession } from "../session/live-session.ts";
import type { KnownSources } from "./known-sources.ts";
import type { LiveCall } from "./live-request.ts";
import type { WorkerLines } from "./worker-lines.ts";

/** What calls of jobs and of routes share. */
export type CallParts = {
  readonly service: Service;
  readonly session: LiveSession;
  readonly sources: KnownSources;
  readonly lines: WorkerLines;
  /** The text of a live request: adds the texts of files, but for those that are known. */
  readonly pack: (call: LiveCall, known: ReadonlySet<string>) => string;
};
