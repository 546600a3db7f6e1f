/** `/docs/graphql`: the schema of the management API as a page for browsers. */
import { Hono } from "hono";
import { managementSchema } from "./schema.ts";
import { escapeHtml as escape, schemaHtml } from "./schema-html.ts";

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'";

const CALL = (origin: string) => `curl ${origin}/graphql \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"query":"query { myself { id endpoints { id name workersMax } } }"}'`;

const CHANGE = (origin: string) => `curl ${origin}/graphql \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{"query":"mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id workersMax } }",
       "variables":{"input":{"id":"<endpoint id>","workersMax":5}}}'`;

export function schemaPageRoutes(): Hono {
  const routes = new Hono();
  routes.get("/", (context) =>
    context.html(page(new URL(context.req.url).origin), 200, {
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    }),
  );
  return routes;
}

/** The same for everybody, and takes a while to write. */
let schema: ReturnType<typeof schemaHtml> | undefined;

function page(origin: string): string {
  schema ??= schemaHtml(managementSchema);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Edgerun: GraphQL</title>
    <link rel="icon" href="/docs/icon.svg" />
    <link rel="stylesheet" href="/docs/docs.css" />
  </head>
  <body>
    <header>
      <a class="name" href="/">Edgerun</a>
      <nav>
        <a href="/docs">API explorer</a> <a href="/docs/graphql" aria-current="page">GraphQL</a>
        <a href="/openapi.json">openapi.json</a>
      </nav>
    </header>
    <main>
      <h1>GraphQL</h1>
      <p>
        The whole management API is one address, <code>POST ${escape(origin)}/graphql</code>. The body is JSON:
        <code>query</code> holds a GraphQL document, <code>variables</code> its variables. The key goes into
        <code>Authorization: Bearer</code>, or into the address as <code>?api_key=</code>.
      </p>
      <pre tabindex="0">${escape(CALL(origin))}</pre>
      <p>
        A save without an <code>id</code> creates; with an <code>id</code> it changes, and what it omits stays.
        An operation that is refused is answered with 200 and <code>errors</code>, each with a
        <code>message</code> that names the field and an <code>extensions.code</code>.
      </p>
      <pre tabindex="0">${escape(CHANGE(origin))}</pre>
      <div class="schema">
        <nav aria-label="Schema" tabindex="0">
          <label for="search">Search</label>
          <input id="search" type="search" autocomplete="off" spellcheck="false" />
          <p id="found" role="status"></p>
          ${schema.index}
        </nav>
        <div id="parts">${schema.parts}</div>
      </div>
    </main>
    <script src="/docs/schema.js" type="module"></script>
  </body>
</html>
`;
}
