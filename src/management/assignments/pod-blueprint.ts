/** What the container of a pod is made of, with references in the place of secrets. */
import { type PodService, WORKER_START_LIMIT_MS } from "../../contract/agent/agent.ts";
import { findAccount } from "../../db/accounts.ts";
import { openDatabase } from "../../db/database.ts";
import { findPod, localVolumeGb, type PodRecord } from "../../db/pods.ts";
import type { Env } from "../../env.ts";
import { portsOf } from "../nouns/pod.ts";
import type { Blueprint, RawVariable } from "./blueprint.ts";

/** The public keys of the account, with which images start sshd. */
const PUBLIC_KEY = "PUBLIC_KEY";
/** With which Jupyter lets its owner in. */
const JUPYTER_PASSWORD = "JUPYTER_PASSWORD";
/** Takes the place of the account's keys for one pod. */
const OWN_PUBLIC_KEY = "SSH_PUBLIC_KEY";

export async function loadPodBlueprint(
  env: Env,
  accountId: string,
  podId: string,
): Promise<{ readonly version: number; readonly blueprint: Blueprint } | undefined> {
  const db = openDatabase(env.DB);
  const record = await findPod(db, accountId, podId);
  if (record === undefined) return undefined;
  const account = record.startSsh ? await findAccount(db, accountId) : undefined;
  const owner = `pod '${record.name}'`;
  const variables = variablesOf(record, account?.pubKey ?? null, owner);
  const blueprint: Blueprint = {
    fixed: {
      endpointId: podId,
      type: "POD",
      imageName: record.imageName,
      dockerArgs: record.dockerArgs,
      containerDiskInGb: record.containerDiskInGb,
      ...(record.networkVolumeId !== null && { networkVolumeIds: [record.networkVolumeId] }),
      startLimitMs: WORKER_START_LIMIT_MS, // which agents keep for workers of endpoints alone
      pod: {
        volumeInGb: localVolumeGb(record),
        volumeMountPath: record.volumeMountPath,
        ports: portsOf(record),
        services: servicesOf(record, variables),
      },
    },
    variables,
    registryAuthId: record.containerRegistryAuthId,
    registryAuthOwner: owner,
    podId,
  };
  return { version: record.version, blueprint };
}

/** sshd without a key lets nobody in, and Jupyter without a password lets everybody in. */
function servicesOf({ startSsh, startJupyter }: PodRecord, variables: readonly RawVariable[]): PodService[] {
  const has = (name: string): boolean => variables.some(({ key, value }) => key === name && value !== "");
  return [
    ...(startSsh && has(PUBLIC_KEY) ? ["ssh" as const] : []),
    ...(startJupyter && has(JUPYTER_PASSWORD) ? ["jupyter" as const] : []),
  ];
}

function variablesOf({ env, startSsh }: PodRecord, pubKey: string | null, owner: string): RawVariable[] {
  const values = new Map(env.map(({ key, value }) => [key, value]));
  const publicKey = values.get(OWN_PUBLIC_KEY) ?? pubKey;
  if (startSsh && publicKey !== null && !values.has(PUBLIC_KEY)) values.set(PUBLIC_KEY, publicKey);
  return [...values].map(([key, value]) => ({ key, value, owner }));
}
