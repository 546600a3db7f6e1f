/** Prints the cases that do not come out as they should on the simulated runtime, and ends with status 1 for any. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { installModules } from "../runtime/modules.ts";

installModules();
const { installGlobals } = await import("../world/globals.ts");
const { installWebTypes } = await import("../runtime/web-types.ts");
const { loadEdge } = await import("../runtime/edge.ts");
const { runCases } = await import("./simulated.ts");

let network: unknown;
installGlobals();
installWebTypes(() => network as never);
const outcomes = await runCases(
  await loadEdge(join(import.meta.dirname, "../../..")),
  (entered) => (network = entered),
);
const wrong = outcomes.filter(({ gives, expected }) => !isDeepStrictEqual(gives, expected));
for (const { name, gives, expected } of wrong) {
  console.log(`${name}: ${JSON.stringify(gives)} instead of ${JSON.stringify(expected)}`);
}
console.log(`${outcomes.length} cases, ${wrong.length} of them wrong`);
process.exit(wrong.length === 0 ? 0 : 1);
