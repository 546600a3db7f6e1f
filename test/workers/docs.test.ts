import { exports } from "cloudflare:workers";
import { test } from "vitest";

test("the explorer is served with all it needs, and may load nothing from elsewhere", async ({ expect }) => {
  for (const path of ["/docs", "/docs/swagger-ui/swagger-ui-bundle.js"]) {
    const response = await exports.default.fetch(`http://edge${path}`);
    console.log(path, response.status, JSON.stringify([...response.headers]), (await response.text()).length);
  }
  const r = await exports.default.fetch(`http://edge/docs/nope`);
  console.log(r.status, await r.text());
});
