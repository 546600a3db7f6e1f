/** Bodies that a client of HTTP does not send: chunks that are malformed, and ends that never come. */
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "vitest";
import { startLoneEdge } from "../support/lone-edge.ts";
import { createEndpoint } from "../support/management-client.ts";

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
  await using edge = await startLoneEdge();
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
