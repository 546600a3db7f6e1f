/**
 * The life of a pod: whether it shall run, in which version, and on which host its volume is.
 *
 * L1  The version grows with every start, restart, move and edit of what it is made of, and never otherwise: a host
 *     that still has a container of an older version knows that it is not the one that shall run.
 * L2  What already is so stays as it is, so that a call whose answer was lost can be made again; a configuration that is
 *     older than the present one changes nothing.
 * L3  A stop by time counts once: a pod that is started after it runs on.
 */
import type { PodConfig } from "../../contract/pod.ts";

/** Why a pod is stopped. */
export type StopReason = "stopped" | "stop_time" | "preempted" | "host_removed";

export type PodState = {
  readonly config: PodConfig;
  readonly desired: "running" | "stopped";
  /** Null while it shall run. */
  readonly stopReason: StopReason | null;
  /** Of its container; at least that of its configuration. */
  readonly version: number;
  readonly createdAt: number;
  /** Since when its desired state is this. */
  readonly changedAt: number;
  /** The host that has its volume; null for none. */
  readonly volumeHostId: string | null;
  /** Of its volume, from 0: another one when it has given up the one before, which holds nothing of that. */
  readonly volumeNumber: number;
};

export type PodEvent =
  | { readonly kind: "start" | "restart" | "edit"; readonly config: PodConfig }
  | { readonly kind: "stop"; readonly reason: StopReason }
  /** It leaves its host for another one. */
  | { readonly kind: "moved" }
  /** It has got a place. */
  | { readonly kind: "placed"; readonly hostId: string }
  /** The host that has its volume is gone. */
  | { readonly kind: "volume_lost" };

export function newPod(config: PodConfig, now: number): PodState {
  const { version } = config;
  const times = { createdAt: now, changedAt: now };
  return {
    config,
    desired: "running",
    stopReason: null,
    version,
    ...times,
    volumeHostId: null,
    volumeNumber: 0,
  };
}

/** The pod after the event: the same object where nothing changes. */
export function changePod(pod: PodState, event: PodEvent, now: number): PodState {
  switch (event.kind) {
    case "start":
      return pod.desired === "running" ? pod : runAgain(pod, event.config, now);
    case "restart":
      return isRestarted(pod, event.config) ? pod : runAgain(pod, event.config, now);
    case "edit":
      return edit(pod, event.config);
    case "stop":
      return pod.desired === "stopped" ? pod : stop(pod, event.reason, now);
    case "moved":
      return { ...pod, version: pod.version + 1 };
    case "placed":
      return pod.config.volumeInGb > 0 ? { ...pod, volumeHostId: event.hostId } : pod;
    case "volume_lost":
      return { ...stop(pod, "host_removed", now), volumeHostId: null };
  }
}

/** When time changes the pod next; null for never. */
export function nextTimeOf(pod: PodState): number | null {
  const times = [stopTimeOf(pod), pod.config.terminateAt].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}

/** What time does to the pod now. */
export function dueChange(pod: PodState, now: number): "stop" | "terminate" | null {
  const { terminateAt } = pod.config;
  const stopAt = stopTimeOf(pod);
  if (terminateAt !== null && terminateAt <= now) return "terminate";
  return stopAt !== null && stopAt <= now ? "stop" : null;
}

function stopTimeOf({ desired, changedAt, config: { stopAt } }: PodState): number | null {
  return desired === "running" && stopAt !== null && stopAt > changedAt ? stopAt : null;
}

function isRestarted(pod: PodState, config: PodConfig): boolean {
  return pod.desired === "running" && config.version <= pod.config.version;
}

function runAgain(pod: PodState, config: PodConfig, now: number): PodState {
  const changedAt = pod.desired === "running" ? pod.changedAt : now;
  const next = withConfig(pod, config.version < pod.config.version ? pod.config : config);
  return { ...next, desired: "running", stopReason: null, changedAt, version: nextVersion(pod, config) };
}

/** One of the version that it has concerns its name, its bid and its times, and leaves the container as it is. */
function edit(pod: PodState, config: PodConfig): PodState {
  if (config.version < pod.config.version) return pod;
  const isAnother = config.version > pod.config.version;
  return { ...withConfig(pod, config), version: isAnother ? nextVersion(pod, config) : pod.version };
}

function withConfig(pod: PodState, config: PodConfig): PodState {
  if (config.volumeInGb > 0) return { ...pod, config };
  const volumeNumber = pod.volumeNumber + (pod.config.volumeInGb > 0 ? 1 : 0);
  return { ...pod, config, volumeHostId: null, volumeNumber };
}

function nextVersion({ version }: PodState, config: PodConfig): number {
  return Math.max(version + 1, config.version);
}

function stop(pod: PodState, stopReason: StopReason, now: number): PodState {
  const changedAt = pod.desired === "stopped" ? pod.changedAt : now;
  return { ...pod, desired: "stopped", stopReason, changedAt };
}
