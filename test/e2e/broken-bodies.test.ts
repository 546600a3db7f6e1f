/** Bodies that a client of HTTP does not send: chunks that are malformed, and ends that never come. */
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "vitest";
import { createEndpoint } from "../support/management-client.ts";
import { newAccount } from "../support/shared-edge.ts";

const BROKEN = {
  "a chunk whose length no number holds": "FFFFFFFFFFFFFFFFF\r\n{}\r\n",
  "a chunk whose length is no number": "zz\r\n{}\r\n",
  "a chunk that is shorter than it says": "9\r\n{}\r\n0\r\n\r\nx",
};

/** The status line and what follows; the connection is the client's to close. */
async function answerTo(baseUrl: string, head: string, body: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(`${head}\r\nHost: ${hostname}\r\nConnection: close\r\n`);
  socket.write(`Transfer-Encoding: chunked\r\n\r\n${body}`);
  return await text(socket);
}

test("are mistakes of their sender at every address that takes a body", async ({ expect }) => {
  const edge = await newAccount("broken bodies");
  const endpointId = await createEndpoint(edge, { name: "broken", imageName: "none" });
  const authorization = `Authorization: Bearer ${edge.apiKey}`;
  const paths = [
    `/v2/${endpointId}/run`,
    `/v2/${endpointId}/runsync`,
    `/v2/${endpointId}/batch`,
    `/v2/${endpointId}/openai/v1/completions`,
    "/v1/templates",
    "/graphql",
    "/agent/v1/join",
  ];
  const cases = paths.flatMap((path) => Object.entries(BROKEN).map(([name, body]) => ({ path, name, body })));
  const statuses = cases.map(async ({ path, name, body }) => {
    const answer = await answerTo(edge.baseUrl, `POST ${path} HTTP/1.1\r\n${authorization}`, body);
    return [path, name, /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]];
  });
  expect(await Promise.all(statuses)).toEqual(cases.map(({ path, name }) => [path, name, "400"]));
});

/** Sends the whole body before it listens, as many clients do; undefined when the connection was reset. */
async function statusOfLarge(baseUrl: string, head: string, body: string): Promise<string | undefined> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const written = new Promise<void>((resolve) => {
    socket.write(`${head}\r\nHost: ${hostname}\r\nConnection: close\r\n${body}`, () => resolve());
  });
  socket.pause();
  const ended = new Promise<void>((resolve) => socket.once("error", () => resolve()));
  await Promise.race([written, ended]);
  const answer = await text(socket).catch(() => "");
  return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
}

test("that are too large for GraphQL are refused with an answer", async ({ expect }) => {
  const edge = await newAccount("broken bodies");
  const large = "x".repeat(1_800_000);
  const bodies = {
    announced: `Content-Length: ${large.length}\r\n\r\n${large}`,
    chunked: `Transfer-Encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
  };
  const keys = {
    "413": `\r\nAuthorization: Bearer ${edge.apiKey}`,
    "401": "",
  };
  for (const [name, body] of Object.entries(bodies)) {
    for (const [status, key] of Object.entries(keys)) {
      const statuses: (string | undefined)[] = [];
      for (let count = 0; count < 10; count += 1) {
        statuses.push(await statusOfLarge(edge.baseUrl, `POST /graphql HTTP/1.1${key}`, body));
      }
      expect(statuses, name).toEqual(Array<string>(10).fill(status));
    }
  }
});
