import type { ServedEndpoint } from "./served-app.ts";

/** The OpenAPI document of the local server. */
export function openApiDocument(name: string, endpoints: readonly ServedEndpoint[]): unknown {
  return {
    openapi: "3.1.0",
    info: { title: name, version: "1" },
    paths: {},
    tags: endpoints.map((one) => ({ name: one.name })),
  };
}
