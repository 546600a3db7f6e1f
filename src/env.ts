import type { RateEnv } from "./auth/request-rates.ts";
import type { EndpointObject } from "./endpoint/endpoint-object.ts";
import type { FleetObject } from "./fleet/fleet-object.ts";
import type { HostObject } from "./host/host-object.ts";
import type { PodObject } from "./pod/pod-object.ts";

/** What the Worker script is bound to; see wrangler.toml. */
export type Env = RateEnv & {
  ENDPOINT: DurableObjectNamespace<EndpointObject>;
  FLEET: DurableObjectNamespace<FleetObject>;
  HOST: DurableObjectNamespace<HostObject>;
  POD: DurableObjectNamespace<PodObject>;
  DB: D1Database;
  PAYLOADS: R2Bucket;
  LOGS: R2Bucket;
  /** Packed files of flash apps. */
  ARTIFACTS: R2Bucket;
  /** Files of the pages; what scripts/bundle/assets.ts has put together. */
  ASSETS: Fetcher;
  /** Opens the account "default"; for a start without any other key. */
  ROOT_API_KEY?: string;
  /** Keys for what is kept encrypted, newest first; see auth/key-ring.ts. */
  ENCRYPTION_KEYS?: string;
  /** "true": the catalog of GPUs, CPUs and places is shown to callers with a key only. */
  CATALOG_REQUIRES_KEY?: string;
  /** Prices of the catalog, as JSON: see management/catalog/prices.ts. */
  GPU_PRICES?: string;
  /** Hosts below which load-balanced endpoints have theirs, as a comma list; see docs/reference/load-balancing.md. */
  LB_HOSTS?: string;
  /** The same for ports of pods, `<pod>-<port>.<host>`; see docs/reference/pod-ports.md. */
  POD_HOSTS?: string;
  /** Private addresses of pods of clusters, as an IPv4 network; see docs/reference/pods.md. */
  CLUSTER_NETWORK?: string;
  /** How long a request of a load-balanced endpoint waits for a worker; see contract/limits.ts for the default. */
  LB_WAIT_SECONDS?: string;
  /** A tunnel ends when nothing was sent through it for so long; see gateway/tunnels/idle-limit.ts. */
  TUNNEL_IDLE_SECONDS?: string;
  /** "true": webhooks may have loopback and private addresses; for development. */
  WEBHOOK_ALLOW_PRIVATE?: string;
  /** "true": requests over plain HTTP are processed also from other computers; see gateway/transport.ts. */
  ALLOW_PLAIN_HTTP?: string;
  /** "true": no header says truly who the client is; see auth/client-address.ts. */
  WITHOUT_CLOUDFLARE?: string;
  /** With all four, uploads without an announced SHA-256 go straight to R2: see docs/reference/flash-apps.md. */
  ARTIFACTS_S3_ENDPOINT?: string;
  ARTIFACTS_S3_BUCKET?: string;
  ARTIFACTS_S3_ACCESS_KEY_ID?: string;
  ARTIFACTS_S3_SECRET_ACCESS_KEY?: string;
  /** Address of the hub that hosts download models from; see management/assignments/model-needs.ts. */
  MODEL_SOURCE?: string;
  /** What jobs of an endpoint may take, in GB; see endpoint/job-storage.ts. */
  ENDPOINT_STORAGE_GB?: string;
  /** Objects that may share the queue of an endpoint; 1 for one each. */
  ENDPOINT_SHARDS_MAX?: string;
  /** What logs of an account may add in a day, in GB; see management/logs/log-quota.ts. */
  LOG_STORAGE_GB_PER_DAY?: string;
  /** What artifacts of an account may take, in GB; see management/flash/uploads.ts. */
  ARTIFACT_STORAGE_GB?: string;
  /** Days for which logs are kept; see management/logs/log-retention.ts. */
  LOG_RETENTION_DAYS?: string;
};
