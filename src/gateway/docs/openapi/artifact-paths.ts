/** Artifacts of flash apps: URLs that the management API issues. */
import * as z from "zod";
import type { ZodOpenApiPathsObject, ZodOpenApiResponsesObject } from "zod-openapi";
import { operation } from "./operation.ts";

const TAG = "Artifacts";
const OPEN = { security: [] };
const tokenPath = z.object({ token: z.string().meta({ description: "As issued by the management API." }) });
const archive = { "application/gzip": { schema: { type: "string", format: "binary" } } } as const;
const requestBody = { required: true, content: archive } as const;

const download = operation(
  {
    id: "downloadBuild",
    tag: TAG,
    summary: "Download the artifact of a build",
    details:
      "The URL is `activeArtifact.downloadUrl` of an environment. `Range` asks for a part; the ETag is the SHA-256.",
    path: tokenPath,
    answer: undefined,
  },
  [404, 429, 500],
);

/** Answers of operations that send an artifact. */
export const ARCHIVE = {
  200: { description: "A gzipped tar archive.", content: archive },
  206: { description: "The part that the Range header asks for.", content: archive },
  416: { description: "The archive ends before that part." },
} satisfies ZodOpenApiResponsesObject;

export const artifactPaths: ZodOpenApiPathsObject = {
  "/artifacts/uploads/{token}": {
    put: {
      ...operation(
        {
          id: "uploadArtifact",
          tag: TAG,
          summary: "Upload an artifact in one request",
          details:
            "The URL is `uploadUrl` of prepareFlashArtifactUpload. Size and SHA-256 must be as announced.",
          path: tokenPath,
          answer: undefined,
          status: 204,
        },
        [400, 404, 429, 500],
      ),
      requestBody,
      ...OPEN,
    },
  },
  "/artifacts/uploads/{token}/parts/{number}": {
    put: {
      ...operation(
        {
          id: "uploadArtifactPart",
          tag: TAG,
          summary: "Upload a part of an artifact",
          details: "In any order; may be repeated. Each part but the last has `partBytes` bytes.",
          path: tokenPath.extend({ number: z.number().int().min(1) }),
          answer: undefined,
          status: 204,
        },
        [400, 404, 429, 500],
      ),
      requestBody,
      ...OPEN,
    },
  },
  "/artifacts/downloads/{token}": {
    get: { ...download, responses: { ...download.responses, ...ARCHIVE }, ...OPEN },
  },
};
