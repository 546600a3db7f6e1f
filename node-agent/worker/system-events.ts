/** Messages in the log of a worker about events of the agent. */
import type { AgentEvent, AgentLog, LogFields } from "../core/log.ts";
import type { Recreation } from "./lifecycle/worker-life.ts";
import type { WorkerLogs } from "../logs/worker-logs.ts";

const RECREATIONS: Readonly<Record<Recreation, string>> = {
  refresh: "Restarts, as its handler requested.",
  hard_stop: "Restarts: a job did not stop when requested.",
  new_code: "Restarts with the new code.",
};

/** Other events do not concern the owner of a worker. */
const MESSAGES: { readonly [Event in AgentEvent]?: (fields: LogFields) => string } = {
  worker_assigned: ({ isSuperseded }) =>
    isSuperseded
      ? "Assigned to this host, with a newer version, since its own is no longer available."
      : "Assigned to this host.",
  worker_adopted: () => "The agent was restarted; the worker runs on.",
  worker_prepare_failed: ({ reason }) => `Cannot be prepared: ${reason}`,
  worker_start_withheld: ({ reason }) => `Waits with its start: ${reason}`,
  image_pull_started: ({ image }) => `Pulling image ${image}.`,
  image_pull_ended: ({ image }) => `Image ${image} is here.`,
  worker_started: () => "The worker was started.",
  worker_ready: ({ how }) => `Ready: it ${how}.`,
  worker_health_lost: ({ reason }) => `Gets no more requests until it is healthy again: ${reason}`,
  worker_health_regained: () => "Healthy again: it gets requests.",
  worker_port_wrong: ({ reason }) => `Cannot get requests: ${reason}`,
  pod_service_started: ({ service, port }) => `Started ${service} on port ${port}, since the image had not.`,
  pod_service_missing: ({ service }) => `The image has no ${service}, so it was not started.`,
  pod_service_not_started: ({ reason }) => `What the pod wants could not be started: ${reason}`,
  worker_frozen: () => "On standby: frozen until a worker is needed again.",
  worker_thawed: () => "Needed again: it resumes.",
  worker_failed: ({ state, reason }) =>
    `${state === "crash_looping" ? "Keeps failing" : "Failed"}: ${reason}`,
  worker_recreated: ({ reason }) => RECREATIONS[reason as Recreation],
  worker_draining: () => "No longer needed here: it ends what it has begun, and receives no more.",
  worker_removed: () => "Removed from this host.",
  worker_remove_failed: ({ reason }) => `Could not be removed yet: ${reason}`,
  job_lost: ({ jobId, reason }) => `Job ${jobId} was lost: ${reason}`,
  job_overstays: ({ jobId }) => `Job ${jobId} was requested to stop but still runs.`,
};

/** A log that also adds messages to the logs of workers. */
export function withSystemEvents(log: AgentLog, logs: WorkerLogs): AgentLog {
  const addSystemEvent = (event: AgentEvent, fields: LogFields = {}): void => {
    const message = MESSAGES[event]?.(fields);
    const { workerId, endpointId, jobId } = fields;
    if (message === undefined || typeof workerId !== "string") return;
    logs.addEvent(workerId, message, {
      ...(typeof endpointId === "string" && { endpointId }),
      ...(typeof jobId === "string" && { jobId }),
    });
  };
  return {
    debug: (event, fields) => log.debug(event, fields),
    info: (event, fields) => {
      log.info(event, fields);
      addSystemEvent(event, fields);
    },
    warn: (event, fields) => {
      log.warn(event, fields);
      addSystemEvent(event, fields);
    },
    error: (event, fields) => {
      log.error(event, fields);
      addSystemEvent(event, fields);
    },
  };
}
