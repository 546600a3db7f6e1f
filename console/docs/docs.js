/** The API explorer: Swagger UI on the document of this edge, and commands to copy. */

const COMMANDS = {
  run: `curl -X POST ${location.origin}/v2/$ENDPOINT/runsync \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"input":{"name":"you"}}'`,
  rest: `curl ${location.origin}/v1/endpoints \\
  -H "Authorization: Bearer $KEY"`,
  graphql: `curl ${location.origin}/graphql \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"query":"query { myself { id } }"}'`,
};

for (const place of document.querySelectorAll("[data-command]")) {
  place.textContent = COMMANDS[place.dataset.command];
}

const loaded = Promise.withResolvers();
const explorer = globalThis.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#explorer",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  // The key lives as long as the page.
  persistAuthorization: false,
  validatorUrl: null,
  onComplete: loaded.resolve,
});

async function authorize() {
  await loaded.promise; // a key that comes before the document would be forgotten
  const field = document.querySelector("#key");
  explorer.preauthorizeApiKey("apiKey", field.value.trim());
  field.value = "";
  document.querySelector("#authorized").textContent = "Calls of this page carry the key until it is closed.";
}

document.querySelector("#authorize").addEventListener("submit", (event) => {
  event.preventDefault();
  void authorize();
});
