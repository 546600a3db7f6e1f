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

const darkness = matchMedia("(prefers-color-scheme: dark)");
const followColours = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
darkness.addEventListener("change", followColours);
followColours();

const AGENT_TAG = "agent";
const isOfAgents = (tags) => tags.includes(AGENT_TAG);
/**
 * Shown apart: of a document with 150 tags and operations or more, Swagger UI renders only those in view, and the search
 * of the browser finds no others.
 */
const isOfRestV2 = (tags) => tags.some((tag) => tag.startsWith("REST v2"));

/** The document with the operations, and their tags, of which `isIncluded` holds. */
function withOperations(whole, isIncluded) {
  const paths = Object.entries(whole.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).filter(([, { tags = [] }]) => isIncluded(tags))),
  ]);
  const known = paths.filter(([, item]) => Object.keys(item).length > 0);
  return {
    ...whole,
    tags: whole.tags.filter(({ name }) => isIncluded([name])),
    paths: Object.fromEntries(known),
  };
}

function explore(selector, spec, settings) {
  const { promise, resolve } = Promise.withResolvers();
  const explorer = globalThis.SwaggerUIBundle({
    spec,
    dom_id: selector,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    // The key lives as long as the page.
    persistAuthorization: false,
    validatorUrl: null,
    onComplete: () => resolve(explorer),
    ...settings,
  });
  return promise;
}

const whole = await (await fetch("/openapi.json")).json();
const loaded = explore(
  "#explorer",
  withOperations(whole, (tags) => !isOfAgents(tags) && !isOfRestV2(tags)),
  {
    deepLinking: true,
    filter: true,
  },
);

const loadedRestV2 = explore("#rest-v2-explorer", withOperations(whole, isOfRestV2), {});

const forAgents = document.querySelector("#agent-operations");
forAgents.addEventListener(
  "toggle",
  () => void explore("#agent-explorer", withOperations(whole, isOfAgents), {}),
  { once: true },
);

async function authorize() {
  const explorers = await Promise.all([loaded, loadedRestV2]); // a key that comes before them would be forgotten
  const field = document.querySelector("#key");
  for (const explorer of explorers) explorer.preauthorizeApiKey("apiKey", field.value.trim());
  field.value = "";
  document.querySelector("#authorized").textContent = "Calls of this page carry the key until it is closed.";
}

document.querySelector("#authorize").addEventListener("submit", (event) => {
  event.preventDefault();
  void authorize();
});
