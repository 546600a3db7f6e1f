/** Which agents `edgerun-agent upgrade` installs: as a process, on a machine without a service. */
import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, describe, inject, test } from "vitest";
import { bundleAgent } from "../../scripts/bundle/agent-bundle.ts";
import { AgentSigner } from "../../scripts/bundle/agent-signing.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const NEXT = Buffer.from(`if (process.argv.includes("--version")) console.log("9.9.9");\n`);
const SWAPPED = Buffer.from(`if (process.argv.includes("--version")) console.log("6.6.6");\n`);

/** What an edge serves: the agent, its hash, and its signature. */
let served: { agent: Buffer; signature: string | null };
const server = createServer(({ url = "" }, response) => {
  if (url.endsWith(".sha256"))
    return void response.end(createHash("sha256").update(served.agent).digest("hex"));
  if (!url.endsWith(".sig")) return void response.end(served.agent);
  response.statusCode = served.signature === null ? 404 : 200;
  response.end(served.signature ?? "");
});

let directory: string;
let signer: AgentSigner;
/** An agent of an installation that signs, and one of an installation that does not. */
let signing: string;
let unsigned: string;
const keyFile = (name: string): string => join(directory, `${name}.key`);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "edgerun-upgrade-"));
  signer = await AgentSigner.make(keyFile("first"));
  signing = join(directory, "signing.mjs");
  unsigned = inject("agentBundle");
  await writeFile(signing, await bundleAgent(ROOT, signer.publicKey));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
});
afterAll(async () => {
  await new Promise((closed) => server.close(closed));
  await rm(directory, { recursive: true, force: true });
});
beforeEach(() => {
  served = { agent: NEXT, signature: signer.signatureOf(NEXT) };
});

/** Upgrades a copy of the agent; says whether it was replaced. */
async function upgrade(from: string, ...flags: string[]) {
  const agent = join(directory, "edgerun-agent.mjs");
  await copyFile(from, agent);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const args = [agent, "upgrade", "--edge", url, "--state", directory, ...flags];
  const { exitCode, all } = await execa(process.execPath, args, { all: true, reject: false });
  const isReplaced = (await readFile(agent)).equals(served.agent);
  const isKept = (await readFile(agent)).equals(await readFile(from));
  return { exitCode, output: all, isReplaced, isKept };
}

describe("an agent with a key", () => {
  test("is replaced by one that its key has signed", async ({ expect }) => {
    expect(await upgrade(signing)).toMatchObject({ exitCode: 0, isReplaced: true });
  });

  test.for([
    ["is other bytes than were signed", { agent: SWAPPED }, /not of this file/],
    ["is not signed", { signature: null }, /not signed/],
    ["has a signature that is none", { signature: "{}" }, /cannot be read/],
    ["has no answer but a page", { signature: "<html>" }, /cannot be read/],
  ] as const)("stays where the other %s", async ([, change, message], { expect }) => {
    served = { ...served, ...change };
    const { exitCode, isKept, output } = await upgrade(signing);
    expect([exitCode, isKept]).toEqual([1, true]);
    expect(output).toMatch(message);
    expect(output).toContain("the one that runs stays");
  });

  test("stays where another key has signed the other, unless its owner accepts that key", async ({
    expect,
  }) => {
    const other = await AgentSigner.make(keyFile("other"));
    served.signature = other.signatureOf(NEXT);
    expect(await upgrade(signing)).toMatchObject({ exitCode: 1, isKept: true });
    expect(await upgrade(signing, "--accept-key", other.publicKey)).toMatchObject({
      exitCode: 0,
      isReplaced: true,
    });
    expect(await upgrade(signing, "--accept-key", signer.publicKey)).toMatchObject({
      exitCode: 1,
      isKept: true,
    });
  });

  test("follows its key to later ones, however many were left out", async ({ expect }) => {
    const second = await AgentSigner.make(keyFile("second"), signer);
    const third = await AgentSigner.make(keyFile("third"), AgentSigner.read(keyFile("second")));
    for (const later of [second, third]) {
      served.signature = later.signatureOf(NEXT);
      expect(await upgrade(signing)).toMatchObject({ exitCode: 0, isReplaced: true });
    }
  });

  test("does not follow a link that its key has not signed", async ({ expect }) => {
    const thief = await AgentSigner.make(keyFile("thief"));
    const signature = JSON.parse(thief.signatureOf(NEXT)) as Record<string, unknown>;
    const link = { from: signer.publicKey, to: thief.publicKey, signature: signature["signature"] };
    served.signature = JSON.stringify({ ...signature, links: [link] });
    expect(await upgrade(signing)).toMatchObject({ exitCode: 1, isKept: true });
  });
});

test("an agent without a key is replaced as before, and has the key from then on", async ({ expect }) => {
  served.agent = await readFile(signing);
  served.signature = null;
  expect(await upgrade(unsigned)).toMatchObject({ exitCode: 0, isReplaced: true });
});
