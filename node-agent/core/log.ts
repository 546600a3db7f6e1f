import pino from "pino";

/** All events of the agent's log. Tokens, keys and environments are never among their fields. */
export type AgentEvent =
  | "agent_started"
  | "agent_stopping"
  | "agent_too_old"
  | "agent_status_silent"
  | "metrics_served"
  | "runtime_chosen"
  | "runtime_outdated"
  | "worker_environment_changed"
  | "network_not_removed"
  | "network_unguarded"
  | "cluster_network_failed"
  | "disk_watch_failed"
  | "worker_over_disk"
  | "worker_over_gpu_memory"
  | "gpu_memory_watch_failed"
  | "command_not_recorded"
  | "left_command_ended"
  | "left_command_not_ended"
  | "host_joined"
  | "edge_reachable"
  | "edge_unreachable"
  | "edge_refused"
  | "link_refused"
  | "worker_port_changed"
  | "worker_adopted"
  | "worker_discarded"
  | "worker_assigned"
  | "worker_unsupported"
  | "image_pull_started"
  | "image_pull_ended"
  | "worker_started"
  | "worker_ready"
  | "worker_health_lost"
  | "worker_health_regained"
  | "worker_port_wrong"
  | "worker_failed"
  | "worker_prepare_failed"
  | "worker_start_withheld"
  | "worker_recreated"
  | "worker_draining"
  | "worker_frozen"
  | "worker_thawed"
  | "worker_standby_failed"
  | "worker_removed"
  | "pod_ports_unreachable"
  | "pod_service_started"
  | "pod_service_missing"
  | "pod_service_not_started"
  | "pod_volume_removed"
  | "pod_volume_not_removed"
  | "worker_remove_failed"
  | "worker_request_refused"
  | "worker_request_failed"
  | "image_pulled"
  | "image_not_pulled"
  | "image_removed"
  | "image_noted"
  | "artifact_stored"
  | "artifact_removed"
  | "bytecode_stored"
  | "bytecode_failed"
  | "model_stored"
  | "model_removed"
  | "worker_image"
  | "job_received"
  | "job_declined"
  | "job_unreadable"
  | "log_lines_refused"
  | "job_delivered"
  | "job_delivery_failed"
  | "job_reported"
  | "job_lost"
  | "job_stopped"
  | "job_overstays"
  | "result_uploaded"
  | "report_refused"
  | "report_dropped"
  | "result_dropped"
  | "chunk_dropped"
  | "progress_dropped"
  | "journal_failed";

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface AgentLog {
  /** What happens with every job: at the default level it costs nothing. */
  debug(event: AgentEvent, fields?: LogFields): void;
  info(event: AgentEvent, fields?: LogFields): void;
  warn(event: AgentEvent, fields?: LogFields): void;
  error(event: AgentEvent, fields?: LogFields): void;
}

export const SILENT_LOG: AgentLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Logs one JSON line per event of the level or above to the standard error stream. */
export function createLog(level: LogLevel): AgentLog {
  const logger = pino({ base: null, level }, pino.destination({ fd: 2, sync: true }));
  return {
    debug: (event, fields = {}) => logger.debug(fields, event),
    info: (event, fields = {}) => logger.info(fields, event),
    warn: (event, fields = {}) => logger.warn(fields, event),
    error: (event, fields = {}) => logger.error(fields, event),
  };
}
