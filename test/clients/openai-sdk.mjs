/**
 * The npm package openai, unmodified, against an endpoint of the openai example.
 *
 *   node test/clients/openai-sdk.mjs --base-url http://127.0.0.1:8787/v2 --api-key KEY --endpoint ID
 *
 * Prints a line per check; exits with 1 at the first difference.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import OpenAI from "openai";

const text = { type: "string" };
const { values } = parseArgs({ options: { "base-url": text, "api-key": text, endpoint: text } });
const [base, apiKey, endpoint] = [values["base-url"], values["api-key"], values.endpoint].map(String);
const baseURL = `${base}/${endpoint}/openai/v1`;
const client = new OpenAI({ apiKey, baseURL });

const STATUS_LIMIT_MS = 30_000;
/** At temperature 0 the model goes on with this for ever. */
const ENDLESS = "Why do cats";
const MODEL = "textgenrnn";
const question = (extra = {}) => ({
  model: MODEL,
  messages: [{ role: "user", content: ENDLESS }],
  temperature: 0,
  max_tokens: 40,
  ...extra,
});

async function check(name, body) {
  try {
    await body();
  } catch (error) {
    process.stderr.write(`DIFFERENT  ${name}\n${error.stack}\n`);
    process.exit(1);
  }
  process.stdout.write(`ok         ${name}\n`);
}

async function queue(path) {
  const response = await fetch(`${base}/${endpoint}/${path}`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  return await response.json();
}

async function becomes(jobId, wanted) {
  for (let waitedMs = 0; waitedMs < STATUS_LIMIT_MS; waitedMs += 50) {
    const { status } = await queue(`status/${jobId}`);
    if (status === wanted) return;
    await sleep(50);
  }
  throw new Error(`job ${jobId} never became ${wanted}`);
}

async function failure(promise) {
  return promise.then(
    () => assert.fail("It was answered."),
    (error) => error,
  );
}

let answered = "";

await check("models are listed and retrieved", async () => {
  const ids = [];
  for await (const { id } of client.models.list()) ids.push(id);
  assert.deepEqual(ids, [MODEL]);
  assert.equal((await client.models.retrieve(MODEL)).object, "model");
  const error = await failure(client.models.retrieve("gpt/none"));
  assert(error instanceof OpenAI.NotFoundError);
  assert.match(error.message, /gpt\/none/);
});

await check("a chat is completed, with its usage, and the job's id is the id of the request", async () => {
  const { choices, usage, object, _request_id } = await client.chat.completions.create(question());
  answered = choices[0].message.content;
  assert.deepEqual([object, choices[0].finish_reason, answered.length], ["chat.completion", "length", 40]);
  assert.deepEqual(usage, { prompt_tokens: 11, completion_tokens: 40, total_tokens: 51 });
  assert.equal((await queue(`status/${_request_id}`)).status, "COMPLETED");
});

await check("a streamed chat has the same words, in pieces, and its usage at the end", async () => {
  const request = question({ stream: true, stream_options: { include_usage: true } });
  const { data: stream, request_id } = await client.chat.completions.create(request).withResponse();
  const pieces = [];
  let usage;
  // oxlint-disable-next-line typescript/await-thenable -- the overloads of create do not see through question()
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content);
    usage = chunk.usage ?? usage;
  }
  assert.equal(pieces.join(""), answered);
  assert(pieces.length > 10);
  assert.equal(usage.total_tokens, 51);
  await becomes(request_id, "COMPLETED"); // the package reads no further than [DONE], and the job ends behind it
});

await check("the stream helper of the package puts it together", async () => {
  const runner = client.chat.completions.stream(question({ stream: true }));
  assert.equal(await runner.finalContent(), answered);
});

await check("a prompt is completed, up to a stop", async () => {
  const request = { model: MODEL, prompt: ENDLESS, temperature: 0, max_tokens: 40, stop: "best" };
  const { choices } = await client.completions.create(request);
  assert.deepEqual([choices[0].text, choices[0].finish_reason], [answered.split("best")[0], "stop"]);
  let streamed = "";
  for await (const chunk of await client.completions.create({ ...request, stream: true })) {
    streamed += chunk.choices[0].text;
  }
  assert.equal(streamed, choices[0].text);
});

await check("what is wrong is thrown as the error that it is", async () => {
  const stranger = new OpenAI({ apiKey: "wrong", baseURL });
  const unknown = await failure(stranger.models.list());
  assert(unknown instanceof OpenAI.AuthenticationError);
  assert.deepEqual([unknown.code, unknown.type], ["invalid_api_key", "authentication_error"]);

  const nowhere = new OpenAI({ apiKey, baseURL: `${base}/nobody/openai/v1` });
  assert((await failure(nowhere.models.list())) instanceof OpenAI.NotFoundError);

  for (const stream of [false, true]) {
    const model = await failure(client.chat.completions.create(question({ model: "none", stream })));
    assert(model instanceof OpenAI.NotFoundError);
    assert.deepEqual([model.type, model.param, model.status], ["NotFoundError", "model", 404]);
    const temperature = await failure(client.chat.completions.create(question({ temperature: 3, stream })));
    assert(temperature instanceof OpenAI.BadRequestError);
    assert.deepEqual(
      [temperature.param, temperature.message],
      ["temperature", "400 temperature must be from 0 to 2."],
    );
    assert.match(temperature.requestID, /^sync-/);
  }
  const body = await failure(client.post("/chat/completions", { body: [1] }));
  assert(body instanceof OpenAI.BadRequestError);
});

await check("a handler that breaks is a server error, and no job is made again", async () => {
  const { total } = await queue("requests?limit=1");
  for (const stream of [false, true]) {
    const error = await failure(client.chat.completions.create(question({ fail: 'it\'s "broken"', stream })));
    assert(error instanceof OpenAI.InternalServerError);
    assert.equal(error.message, '500 it\'s "broken"');
  }
  assert.equal((await queue("requests?limit=1")).total, total + 2);
});

await check("an answer that nobody reads on is cancelled", async () => {
  const request = question({ stream: true, max_tokens: 2_000 });
  const { data: stream, request_id } = await client.chat.completions.create(request).withResponse();
  // oxlint-disable-next-line typescript/await-thenable -- the overloads of create do not see through question()
  for await (const _ of stream) break;
  await becomes(request_id, "CANCELLED");
});

await check("a client that waits too little says so", async () => {
  const hasty = new OpenAI({ apiKey, baseURL, timeout: 100, maxRetries: 0 });
  const error = await failure(hasty.chat.completions.create(question({ max_tokens: 200 })));
  assert(error instanceof OpenAI.APIConnectionTimeoutError);
});
