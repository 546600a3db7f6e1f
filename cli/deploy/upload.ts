/** Uploads an artifact in parts; an interrupted upload is resumed. */
import { errorMessage } from "../../src/std/errors.ts";
import { openAsBlob } from "node:fs";
import { basename } from "node:path";
import pRetry, { AbortError } from "p-retry";
import { ARTIFACT_MAX_BYTES } from "../../src/contract/flash/flash-limits.ts";
import { Failure } from "../../src/std/failure.ts";
import { finalizeUpload, prepareUpload } from "../service/flash-operations.ts";
import { type Service, withinMs } from "../service/service.ts";
import { inStep, type Step } from "../core/terminal.ts";
import prettyBytes from "pretty-bytes";
import type { Cli } from "../core/cli.ts";
import { secondsSince } from "../core/format.ts";

const PART_LIMIT_MS = 600_000;
const RETRIES = { retries: 2, minTimeout: 2_000, factor: 1 };
const GZIP_MAGIC = [0x1f, 0x8b];
/** How often an upload resumes after another one has superseded it. */
const SUPERSEDED_MAX = 20;
/** Characters of an error body in messages. */
const ERROR_BODY_MAX_CHARACTERS = 500;

export type Upload = {
  readonly appId: string;
  readonly artifact: { readonly path: string; readonly sha256: string; readonly sizeBytes: number };
  readonly manifest: unknown;
};

type Uploaded = { readonly buildId: string; readonly wasThere: boolean; readonly sentBytes: number };

/** Uploads an artifact and creates its build; the same artifact and manifest give the same build. */
async function uploadBuild(
  service: Service,
  { appId, artifact, manifest }: Upload,
  step: Step,
  signal: AbortSignal,
): Promise<Uploaded> {
  const blob = await openArtifact(artifact.path);
  let sentBytes = 0;
  for (let superseded = 0; ; superseded += 1) {
    const { prepareFlashArtifactUpload: prepared } = await service.mutateIdempotent(prepareUpload, {
      input: { flashAppId: appId, tarballSize: artifact.sizeBytes, tarballSha256: artifact.sha256 },
    });
    try {
      if (!prepared.isUploaded) sentBytes += await sendParts(blob, prepared, step, signal);
    } catch (error) {
      if (!(error instanceof Superseded) || superseded === SUPERSEDED_MAX) throw error;
      step.update("another upload of the same artifact is running; sending what is missing");
      continue;
    }
    const { finalizeFlashArtifactUpload: build } = await service.mutateIdempotent(finalizeUpload, {
      input: { flashAppId: appId, objectKey: prepared.objectKey, manifest },
    });
    return { buildId: build.id, wasThere: prepared.isUploaded, sentBytes };
  }
}

/** Another upload of the same artifact replaced this one. */
class Superseded extends Failure {}

async function openArtifact(path: string): Promise<Blob> {
  const blob = await openAsBlob(path).catch(() => {
    throw new Failure(`There is no artifact at ${path}.`, ["Build one: flash build"]);
  });
  const magic = new Uint8Array(await blob.slice(0, GZIP_MAGIC.length).arrayBuffer());
  if (!GZIP_MAGIC.every((byte, index) => magic[index] === byte)) {
    throw new Failure(`${basename(path)} is not a gzipped archive.`, ["Build it again: flash build"]);
  }
  if (blob.size > ARTIFACT_MAX_BYTES) {
    throw new Failure(
      `${basename(path)} has ${blob.size} bytes; an artifact may have at most ${ARTIFACT_MAX_BYTES}.`,
      ["Leave out packages that the image has: flash deploy --exclude <package,package>"],
    );
  }
  return blob;
}

type Target = {
  readonly uploadUrl: string;
  readonly partBytes: number;
  readonly partsUploaded: readonly number[];
};

/** Sends the missing parts; answers their size in bytes. */
async function sendParts(
  blob: Blob,
  { uploadUrl, partBytes, partsUploaded }: Target,
  step: Step,
  signal: AbortSignal,
): Promise<number> {
  const numbers = Array.from({ length: Math.ceil(blob.size / partBytes) }, (_, index) => index + 1);
  const missing = numbers.filter((number) => !partsUploaded.includes(number));
  const partOf = (number: number) => blob.slice((number - 1) * partBytes, number * partBytes);
  const totalBytes = missing.reduce((sum, number) => sum + partOf(number).size, 0);

  let doneBytes = blob.size - totalBytes;
  step.progress(doneBytes, blob.size);
  // One by one: completed parts are never sent again, so an interruption loses little.
  for (const number of missing) {
    const before = doneBytes;
    const onSent = (bytes: number): void => step.progress(before + bytes, blob.size);
    await sendPart(`${uploadUrl}/parts/${number}`, partOf(number), onSent, signal);
    doneBytes += partOf(number).size;
  }
  return totalBytes;
}

async function sendPart(
  url: string,
  part: Blob,
  onSent: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  await pRetry(() => sendPartOnce(url, part, onSent, signal), { ...RETRIES, signal }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      throw new Failure(`The upload failed: ${errorMessage(error)}`, ["Run the command again to resume it."]);
    },
  );
}

async function sendPartOnce(
  url: string,
  part: Blob,
  onSent: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(url, {
    method: "PUT",
    // A stream has no length, and would be sent in chunks without this header.
    headers: { "Content-Type": "application/gzip", "Content-Length": String(part.size) },
    body: part.stream().pipeThrough(counted(onSent)),
    duplex: "half",
    signal: withinMs(PART_LIMIT_MS, signal),
  }).catch((error: unknown) => {
    throw isOfTls(error) ? new AbortError(error as Error) : error;
  });
  const body = (await response.text()).slice(0, ERROR_BODY_MAX_CHARACTERS);
  if (response.ok) return;
  const Kind = response.status === 404 ? Superseded : Failure;
  const rejected = new Kind(`The upload was rejected with HTTP ${response.status}: ${body}`);
  throw response.status >= 500 || response.status === 429 ? rejected : new AbortError(rejected);
}

function counted(onSent: (bytes: number) => void): TransformStream<Uint8Array, Uint8Array> {
  let sent = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      sent += chunk.length;
      onSent(sent);
      controller.enqueue(chunk);
    },
  });
}

/** Retrying does not fix a certificate. */
function isOfTls(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code);
}

/** Uploads a build and shows the progress; returns its id. */
export async function uploadWithProgress(cli: Cli, service: Service, upload: Upload): Promise<string> {
  const startedAt = performance.now();
  return await inStep(cli.terminal, { title: "Uploading", failed: "Uploading failed" }, async (step) => {
    const uploaded = await uploadBuild(service, upload, step, cli.signal);
    if (uploaded.wasThere) step.done("Nothing to upload: the service has this artifact already");
    else step.done(`Uploaded ${prettyBytes(uploaded.sentBytes)} (${secondsSince(startedAt)} s)`);
    return uploaded.buildId;
  });
}
