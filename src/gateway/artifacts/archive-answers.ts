/** How the OpenAPI document describes artifacts. */
import type { ZodOpenApiResponsesObject } from "zod-openapi";

export const ARCHIVE = { "application/gzip": { schema: { type: "string", format: "binary" } } } as const;

/** Answers of operations that send an artifact. */
export const ARCHIVE_ANSWERS = {
  200: { description: "A gzipped tar archive.", content: ARCHIVE },
  206: { description: "The part that the Range header asks for.", content: ARCHIVE },
  416: { description: "The archive ends before that part." },
} satisfies ZodOpenApiResponsesObject;
