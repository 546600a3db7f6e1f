/** The API explorer: Swagger UI on the document of this server, read again when the app has changed. */

const DOCUMENT = "/openapi.json";

const explorer = globalThis.SwaggerUIBundle({
  url: DOCUMENT,
  dom_id: "#explorer",
  deepLinking: true,
  docExpansion: "list",
  defaultModelRendering: "example",
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});

let shown = await readDocument();
document.title = `${JSON.parse(shown).info.title}: API explorer`;

async function refresh() {
  const read = await readDocument();
  if (read === undefined || read === shown) return;
  shown = read;
  explorer.specActions.updateSpec(read);
}

// A user who returns from the editor sees the current app.
globalThis.addEventListener("focus", () => void refresh());

/** Undefined while the server cannot be reached. */
async function readDocument() {
  try {
    return await (await fetch(DOCUMENT)).text();
  } catch {
    return undefined;
  }
}
