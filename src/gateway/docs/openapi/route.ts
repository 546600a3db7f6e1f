import type { Context } from "hono";
import { makeDocument } from "./document.ts";

/** How long clients and caches may keep the document, in seconds. */
const MAX_AGE_SECONDS = 300;

/** It is the same for everybody and takes a while to make. */
let json: string | undefined;

/** `GET /openapi.json`: the document of all REST routes; needs no key. */
export function openApi(context: Context): Response {
  json ??= JSON.stringify(makeDocument());
  return context.body(json, 200, {
    "Content-Type": "application/json",
    "Cache-Control": `public, max-age=${MAX_AGE_SECONDS}`,
  });
}
