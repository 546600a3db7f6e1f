/**
 * The npm package runpod-sdk, unmodified: runs a job and prints what its stream gives, as one JSON array.
 *
 *   node test/clients/stream.mjs --base-url http://127.0.0.1:8787/v2 --api-key KEY --endpoint ID --input JSON
 */
import { parseArgs } from "node:util";
import runpodSdk from "runpod-sdk";

const text = { type: "string" };
const { values } = parseArgs({
  options: { "base-url": text, "api-key": text, endpoint: text, input: text },
});
const endpoint = runpodSdk(values["api-key"], { baseUrl: values["base-url"] }).endpoint(values.endpoint);

const { id } = await endpoint.run({ input: JSON.parse(values.input) });
const chunks = [];
for await (const { output } of endpoint.stream(id)) chunks.push(output);
process.stdout.write(JSON.stringify(chunks));
