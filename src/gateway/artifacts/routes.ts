/** Artifacts of flash apps, to be mounted at /artifacts. The token in the URL is all that a caller needs. */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { networkOf } from "../../auth/request-rates.ts";
import { errorBodySchema, ServiceError } from "../../contract/errors.ts";
import type { Env } from "../../env.ts";
import { bytesOfPart, countOfParts } from "../../management/flash/artifact-parts.ts";
import { findDownload, requireUpload } from "../../management/flash/artifact-transfers.ts";
import { mount, type Api, type Route } from "../route.ts";
import { renderError } from "../errors.ts";
import { ARCHIVE, ARCHIVE_ANSWERS } from "./archive-answers.ts";
import { artifactResponse } from "./artifact-answer.ts";
import { storeChecked } from "./checked-upload.ts";

type ArtifactsApi = { Bindings: Env };
type ArtifactsContext = Context<ArtifactsApi>;

const tokenParameter = { token: z.string().meta({ description: "As issued by the management API." }) };
const requestBody = { required: true, content: ARCHIVE } as const;

const ROUTES: readonly Route<ArtifactsApi>[] = [
  {
    on: "PUT /uploads/{token}",
    id: "uploadArtifact",
    summary: "Upload an artifact in one request",
    details: "The URL is `uploadUrl` of prepareFlashArtifactUpload. Size and SHA-256 must be as announced.",
    status: 204,
    errors: [400],
    requestBody,
    serve: receiveArtifact,
  },
  {
    on: "PUT /uploads/{token}/parts/{number}",
    id: "uploadArtifactPart",
    summary: "Upload a part of an artifact",
    details: "In any order; may be repeated. Each part but the last has `partBytes` bytes.",
    params: { number: z.number().int().min(1) },
    status: 204,
    errors: [400],
    requestBody,
    serve: receivePart,
  },
  {
    on: "GET /downloads/{token}",
    id: "downloadBuild",
    summary: "Download the artifact of a build",
    details:
      "The URL is `activeArtifact.downloadUrl` of an environment. `Range` asks for a part; the ETag is the SHA-256.",
    responses: ARCHIVE_ANSWERS,
    serve: sendDownload,
  },
];

export const artifactApi: Api = {
  prefix: "/artifacts",
  tag: "Artifacts",
  operations: ROUTES,
  errorBody: errorBodySchema,
  errors: [404, 429, 500],
  params: tokenParameter,
  credential: "none",
};

export function artifactRoutes(): Hono<ArtifactsApi> {
  const routes = new Hono<ArtifactsApi>();
  routes.onError(renderError);
  // The URL holds the token, so no cache may store the answer.
  routes.use(async (context, next) => {
    context.header("Cache-Control", "private, no-store");
    await next();
  });
  mount(routes, ROUTES);
  routes.all("*", (context) => {
    throw new ServiceError("not_found", `There is no operation ${context.req.method} at this URL.`);
  });
  return routes;
}

/** `PUT /artifacts/uploads/<token>`: the whole artifact in one request. The first complete one is stored. */
async function receiveArtifact(context: ArtifactsContext): Promise<Response> {
  const upload = await uploadOf(context);
  const { bucket } = upload;
  const { objectKey, sizeBytes, sha256: announced } = upload.record;
  const expected = { sizeBytes, sha256: announced, isBeginning: true, what: "The artifact" };
  const isStored = (await bucket.head(objectKey)) !== null;
  if (isStored && announced === null) throw notFirst(); // without a hash the two cannot be compared
  const options = { onlyIf: { etagDoesNotMatch: "*" }, ...(announced !== null && { sha256: announced }) };
  const { sha256, stored } = await storeChecked(context.req.raw, expected, async (readable) => {
    if (!isStored) return await bucket.put(objectKey, readable, options);
    await readable.pipeTo(new WritableStream());
    return null;
  });
  if (isStored || (stored === null && announced !== null)) return context.body(null, 204);
  if (stored === null) throw notFirst();
  await upload.saveHash(sha256);
  return context.body(null, 204);
}

function notFirst(): ServiceError {
  return new ServiceError(
    "invalid_input",
    "Another request has sent the artifact in the meantime. Prepare a new upload.",
  );
}

/** `PUT /artifacts/uploads/<token>/parts/<n>`: one part, in any order; a repeated one replaces the first. */
async function receivePart(context: ArtifactsContext): Promise<Response> {
  const upload = await uploadOf(context);
  const number = Number(context.req.param("number"));
  const sizeBytes = bytesOfPart(upload.record.sizeBytes, number);
  if (sizeBytes === undefined) {
    throw partNotFound(upload.record.sizeBytes, context.req.param("number") ?? "");
  }
  const { multipart, savePart } = await upload.multipart();
  const expected = { sizeBytes, sha256: null, isBeginning: number === 1, what: `Part ${number}` };
  const { stored } = await storeChecked(context.req.raw, expected, async (readable) =>
    multipart.uploadPart(number, readable),
  );
  await savePart(number, stored.etag);
  return context.body(null, 204);
}

function uploadOf({ env, req }: ArtifactsContext) {
  return requireUpload(env, req.param("token") ?? "", networkOf(env, req.raw));
}

function partNotFound(artifactBytes: number, number: string): ServiceError {
  return new ServiceError(
    "invalid_input",
    `There is no part ${number.slice(0, 20)}: the artifact has the parts 1 to ${countOfParts(artifactBytes)}.`,
  );
}

/** `GET /artifacts/downloads/<token>`: the artifact of a build, or the part that the Range header asks for. */
async function sendDownload({ env, req }: ArtifactsContext): Promise<Response> {
  const artifact = await findDownload(env, req.param("token") ?? "");
  const response = artifact && (await artifactResponse(req.raw, env.ARTIFACTS, artifact));
  if (response) return response;
  throw new ServiceError(
    "not_found",
    "This URL of an artifact has expired, or its build was deleted. Ask for activeArtifact again.",
  );
}
