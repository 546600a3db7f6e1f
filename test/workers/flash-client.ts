/** Deploys flash apps as their clients do: by GraphQL, and by PUT of their artifacts. */
import { env, exports } from "cloudflare:workers";
import { freshClient, type Client } from "./graphql-client.ts";

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed

export type Environment = { readonly appId: string; readonly environmentId: string };

let apps = 0;

/** What a mutation or query answers; a refusal is thrown. */
export async function ask(client: Client, document: string, variables: object = {}): Promise<Json> {
  const { data, errors } = await client.send(document, variables);
  if (errors) throw new Error(`${errors[0].extensions.code}: ${errors[0].message}`);
  return data;
}

/** A client with an app that has one environment. */
export async function freshApp(): Promise<Client & Environment> {
  const client = await freshClient();
  return { ...client, ...(await madeApp(client)) };
}

export async function madeApp(client: Client, name = `app-${(apps += 1)}`): Promise<Environment> {
  const { createFlashApp } = await ask(
    client,
    "mutation ($name: String) { createFlashApp(input: { name: $name }) { id } }",
    { name },
  );
  const appId: string = createFlashApp.id;
  return { appId, environmentId: await madeEnvironment(client, appId, "production") };
}

export async function madeEnvironment(client: Client, appId: string, name: string): Promise<string> {
  const document =
    "mutation ($input: CreateFlashEnvironmentInput) { createFlashEnvironment(input: $input) { id } }";
  return (await ask(client, document, { input: { flashAppId: appId, name } })).createFlashEnvironment.id;
}

/** Copies the only environment of an app until it has `count`. */
export async function filledWithEnvironments(
  { appId }: Pick<Environment, "appId">,
  count: number,
): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
     INSERT INTO flash_environment (id, account_id, app_id, name, state, created_at, updated_at)
     SELECT id || i, account_id, app_id, name || i, state, created_at, updated_at
     FROM flash_environment, n WHERE app_id = ?1`,
  )
    .bind(appId, count)
    .run();
}

export type Session = {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly leaseExpiresAt: string;
  readonly liveToken: string;
};

const SESSION = "id name state leaseExpiresAt liveToken";
let sessions = 0;

export async function madeSession(client: Client, appId: string, leaseSeconds = 60): Promise<Session> {
  const document = `mutation ($input: CreateFlashEnvironmentInput) { createFlashEnvironment(input: $input) { ${SESSION} } }`;
  const name = `live-${String((sessions += 1)).padStart(6, "0")}`;
  return (await ask(client, document, { input: { flashAppId: appId, name, leaseSeconds } }))
    .createFlashEnvironment;
}

export async function renewed(client: Client, environmentId: string, leaseSeconds = 60): Promise<Session> {
  const document = `mutation ($input: RenewFlashEnvironmentLeaseInput) { renewFlashEnvironmentLease(input: $input) { ${SESSION} } }`;
  return (await ask(client, document, { input: { flashEnvironmentId: environmentId, leaseSeconds } }))
    .renewFlashEnvironmentLease;
}

/** The id of a new app that goes with its last session. */
export async function madeSessionApp(client: Client, name = `app-${(apps += 1)}`): Promise<string> {
  const document = "mutation ($input: CreateFlashAppInput) { createFlashApp(input: $input) { id } }";
  return (await ask(client, document, { input: { name, isForSessions: true } })).createFlashApp.id;
}

/** A gzipped archive, as far as anybody looks: the bytes are different for each seed. */
export function archive(sizeBytes = 1_000, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sizeBytes);
  for (let at = 0; at < sizeBytes; at += 1_024) bytes[at] = (at / 1_024 + seed) % 251;
  bytes[sizeBytes - 1] = seed % 251;
  bytes.set([0x1f, 0x8b].slice(0, sizeBytes));
  return bytes;
}

export async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export type Prepared = {
  readonly uploadUrl: string;
  readonly objectKey: string;
  readonly expiresAt: string;
  readonly isUploaded: boolean;
  readonly partBytes: number;
  readonly partsUploaded: readonly number[];
};

export async function prepared(
  client: Client,
  { appId }: Pick<Environment, "appId">,
  announced: { readonly tarballSize: number; readonly tarballSha256?: string },
): Promise<Prepared> {
  const document = `mutation ($input: PrepareFlashArtifactUploadInput) { prepareFlashArtifactUpload(input: $input)
    { uploadUrl objectKey expiresAt isUploaded partBytes partsUploaded } }`;
  const input = { flashAppId: appId, ...announced };
  return (await ask(client, document, { input })).prepareFlashArtifactUpload;
}

/** Sends bytes to an address that takes them, as the original client does: without a key. */
export async function put(url: string, body: BodyInit): Promise<{ status: number; body: Json }> {
  const response = await exports.default.fetch(url, {
    method: "PUT",
    body,
    headers: { "Content-Type": "application/gzip" },
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}

export function manifestOf(names: readonly string[] = ["gpu_worker"], more: object = {}) {
  const resources = names.map((name) => [
    name,
    { is_load_balanced: false, functions: [{ name: "f", module: name }], makes_remote_calls: false },
  ]);
  return {
    version: "1.0",
    generated_at: new Date().toISOString(),
    resources: Object.fromEntries(resources),
    ...more,
  };
}

export async function finalized(
  client: Client,
  { appId }: Pick<Environment, "appId">,
  objectKey: string,
  manifest: object = manifestOf(),
): Promise<string> {
  const document =
    "mutation ($input: FinalizeFlashArtifactUploadInput) { finalizeFlashArtifactUpload(input: $input) { id } }";
  const input = { flashAppId: appId, objectKey, manifest };
  return (await ask(client, document, { input })).finalizeFlashArtifactUpload.id;
}

/** Uploads an artifact whole and makes a build of it; gives the build's id. */
export async function built(
  client: Client,
  app: Pick<Environment, "appId">,
  bytes: Uint8Array<ArrayBuffer> = archive(),
  manifest: object = manifestOf(),
): Promise<string> {
  const announced = { tarballSize: bytes.length, tarballSha256: await sha256Of(bytes) };
  const { uploadUrl, objectKey, isUploaded } = await prepared(client, app, announced);
  if (!isUploaded) {
    const { status, body } = await put(uploadUrl, bytes);
    if (status !== 204) throw new Error(JSON.stringify(body));
  }
  return await finalized(client, app, objectKey, manifest);
}

export async function deployed(client: Client, environmentId: string, buildId: string): Promise<void> {
  const document =
    "mutation ($input: DeployBuildToEnvironmentInput) { deployBuildToEnvironment(input: $input) { id } }";
  await ask(client, document, { input: { flashEnvironmentId: environmentId, flashBuildId: buildId } });
}

/** What a deploy saves for each resource. */
export function endpointInput(environmentId: string, name = "gpu_worker", more: object = {}): object {
  return {
    name,
    gpuIds: "AMPERE_16",
    workersMin: 0,
    workersMax: 2,
    flashEnvironmentId: environmentId,
    template: {
      imageName: "edgerun/flash:py3.12-latest",
      containerDiskInGb: 64,
      env: [{ key: "A", value: "1" }],
    },
    ...more,
  };
}

export async function savedInto(
  client: Client,
  environmentId: string,
  name = "gpu_worker",
  more: object = {},
): Promise<{ id: string; version: number; activeBuildid: string | null; templateId: string }> {
  const document = `mutation ($input: EndpointInput) { saveEndpoint(input: $input)
    { id version activeBuildid templateId } }`;
  return (await ask(client, document, { input: endpointInput(environmentId, name, more) })).saveEndpoint;
}

export async function environmentState(client: Client, environmentId: string): Promise<string | undefined> {
  const document = "query ($id: String) { flashEnvironment(flashEnvironmentId: $id) { state } }";
  return (await ask(client, document, { id: environmentId })).flashEnvironment?.state;
}
