import type { Service } from "../../service/service.ts";
import type { LiveSession } from "../session/live-session.ts";
import type { SentSources } from "./sent-sources.ts";
import type { LiveCall } from "./live-request.ts";
import type { WorkerLines } from "../../calls/worker-lines.ts";

/** What calls of jobs and of routes share. */
export type CallDependencies = {
  readonly service: Service;
  readonly session: LiveSession;
  readonly sources: SentSources;
  readonly lines: WorkerLines;
  /** The text of a live request: adds the texts of files, but for those that are known. */
  readonly pack: (call: LiveCall, sent: ReadonlySet<string>) => string;
};
