/**
 * `flash migrate`, from a scripted old service to a real edge. The large move is between two accounts of one edge, which
 * saves the start of a second one: the command knows both by URL and key alone, and what it does is the same.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { inject, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { newAccount } from "../support/shared-edge.ts";
import { until } from "../support/until.ts";
import { CommandFixture, type Run } from "./support/flash-command.ts";
import { ENTER, talk } from "./support/terminal-dialog.ts";
import { OLD_ACCOUNT, OLD_KEY, oldEndpoint, OldService } from "./support/old-service.ts";

const bundle = inject("flashBundle");
const ENDPOINTS = 200;
const SECRETS =
  "hf=hf_value_of_the_secret\nREGISTRY_DOCKER_HUB_USERNAME=robot\nREGISTRY_DOCKER_HUB_PASSWORD=pass word\n";

type Item = {
  kind: string;
  name: string;
  sourceId: string;
  targetId: string | null;
  action: string;
  notes: string[];
};

type NewComer = Awaited<ReturnType<typeof newComer>>;

/** A computer with the key of the old service and a login at a new account of the edge. */
async function newComer(account: string, endpoints: readonly object[], lists?: typeof OLD_ACCOUNT) {
  const edge = await newAccount(account);
  const old = await OldService.open(endpoints, lists);
  const fixture = await CommandFixture.open(bundle, {
    EDGERUN_URL: edge.baseUrl,
    SVC_API_KEY: edge.apiKey,
    RUNPOD_API_KEY: OLD_KEY,
  });
  await fixture.write("secrets.env", SECRETS);
  const command = `flash migrate --from-url ${old.url}`;
  return {
    edge,
    old,
    fixture,
    command,
    run: async (options: string): Promise<Run> => await fixture.run(`${command} ${options}`),
    record: join(fixture.home, ".config/edgerun/migration.json"),
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await old[Symbol.asyncDispose]();
    },
  };
}

function itemsOf({ stdout }: Run): readonly Item[] {
  return (JSON.parse(stdout) as { items: Item[] }).items;
}

function actionsOf(run: Run, kind?: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const item of itemsOf(run).filter((one) => kind === undefined || one.kind === kind)) {
    counts[item.action] = (counts[item.action] ?? 0) + 1;
  }
  return counts;
}

test("a dry run plans and writes nothing", async ({ expect }) => {
  await using comer = await newComer("migrate-dry", [oldEndpoint(0), oldEndpoint(4)]);
  comer.old.busy.add("/v2/templates");
  const run = await comer.run("--json");
  expect(run.stderr).not.toContain(OLD_KEY);
  expect(run.exitCode).toBe(0);
  expect(
    itemsOf(run).map(({ kind, name, action, notes }) => [action, kind, name, ...notes]),
  ).toMatchSnapshot();
  expect(comer.old.requests.filter((line) => line.startsWith("/v2/templates"))).toHaveLength(2);
  await expect(readFile(comer.record)).rejects.toThrow("ENOENT");
  expect(actionsOf(await comer.run("--json"), "endpoint")).toEqual({ create: 2 });
});

test("a dry run refuses what would be refused at creation", async ({ expect }) => {
  const env = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`V${index}`, "1"]));
  const gpu = { pools: ["ADA_24"], count: 1, minCudaVersion: "99" };
  const workers = { min: 0, max: 1_000_000, idleTimeout: 5 };
  const refused: Readonly<Record<string, object>> = {
    ports: { ports: ["8000/udp"] },
    env: { env },
    minCudaVersion: { gpu },
    workersMax: { workers },
  };
  const endpoints = Object.entries(refused).map(([name, changes]) =>
    oldEndpoint(0, { id: name, name, ...changes }),
  );
  const [template, ...templates] = OLD_ACCOUNT["/v2/templates"] ?? [];
  const mounts = { persistent: { size: 20, path: "/workspace" } };
  await using comer = await newComer("migrate-refused", [...endpoints, oldEndpoint(4)], {
    "/v2/templates": [{ ...template, mounts }, ...templates],
  });
  const rejections = (run: Run, action: string) =>
    itemsOf(run).filter((item) => item.action === action && item.sourceId !== "del1");
  const dry = rejections(await comer.run("--json"), "refused");
  expect(dry.map(({ name }) => name)).toEqual(["worker", ...Object.keys(refused)]);
  for (const { name, notes } of dry) expect(notes[0]).toContain(name === "worker" ? "volumeInGb" : name);
  const applied = rejections(await comer.run("--apply --json --secrets-from secrets.env"), "failed");
  expect(applied.map(({ name, notes }) => [name, notes[0]])).toEqual(
    dry.map(({ name, notes }) => [name, notes[0]]),
  );
});

test("applied once more it creates nothing, also when its record is lost", async ({ expect }) => {
  await using comer = await newComer(
    "migrate-twice",
    [0, 1, 2, 3, 4].map((index) => oldEndpoint(index)),
  );
  const apply = "--apply --json --secrets-from secrets.env";
  const first = await comer.run(apply);
  expect(first.exitCode).toBe(0);
  expect(actionsOf(first)).toEqual({ created: 11, refused: 2 });
  expect(actionsOf(await comer.run(apply))).toEqual({ present: 11, refused: 2 });
  await rm(comer.record);
  expect(actionsOf(await comer.run(apply))).toEqual({ present: 11, refused: 2 });
});

test("what is there with other settings stays, and is reported", async ({ expect }) => {
  await using comer = await newComer("migrate-differs", [oldEndpoint(0)]);
  const [created] = itemsOf(await comer.run("--apply --json")).filter(({ kind }) => kind === "endpoint");
  await query(
    comer.edge,
    "mutation ($id: String) { saveEndpoint(input: { id: $id, workersMax: 9 }) { id } }",
    {
      id: created?.targetId,
    },
  );
  const [differing] = itemsOf(await comer.run("--apply --json")).filter(({ kind }) => kind === "endpoint");
  expect(differing).toMatchObject({ action: "differs", targetId: created?.targetId });
  expect(differing?.notes[0]).toContain("workersMax");
});

test("at a terminal it asks for values, and does not show what is typed", async ({ expect }) => {
  await using comer = await newComer("migrate-asked", []);
  const { screen, exitCode } = await talk(comer.fixture, `${comer.command} --apply`, [
    { see: "secret hf", type: `typed_value${ENTER}` },
    { see: "secret unset", type: ENTER },
    { see: "User name", type: `robot${ENTER}` },
    { see: "Password", type: `typed_password${ENTER}` },
  ]);
  expect(exitCode).toBe(0);
  expect(screen).not.toContain("typed_");
  const { myself } = await query(
    comer.edge,
    "query { myself { secrets { name } containerRegistryCreds { name } } }",
  );
  expect(myself).toEqual({ secrets: [{ name: "hf" }], containerRegistryCreds: [{ name: "docker hub" }] });
});

test("the key of Edgerun is not sent to the old service", async ({ expect }) => {
  await using comer = await newComer("migrate-key", []);
  const { exitCode } = await comer.fixture.run(`RUNPOD_API_KEY=$SVC_API_KEY ${comer.command}`);
  expect(exitCode).toBe(1);
  expect(comer.old.requests).toEqual([]);
});

test(`${ENDPOINTS} endpoints move to another account through REST v2, killed again and again`, async ({
  expect,
}) => {
  const endpoints = Array.from({ length: ENDPOINTS }, (_, index) => oldEndpoint(index));
  await using comer = await newComer("migrate-first", endpoints);
  expect((await comer.run("--apply --secrets-from secrets.env")).exitCode).toBe(0);
  const second = await newAccount("migrate-second");
  const environment = {
    ...comer.fixture.environment,
    RUNPOD_API_KEY: comer.edge.apiKey,
    SVC_API_KEY: second.apiKey,
  };
  const command = `flash migrate --from-url ${second.baseUrl} --apply --json --secrets-from secrets.env`;
  for (const recorded of [3, 50, 51, 120]) await killOnce(comer, { command, environment, recorded });
  const keys = `RUNPOD_API_KEY=${comer.edge.apiKey} SVC_API_KEY=${second.apiKey}`;
  const moved = await comer.fixture.run(`${keys} ${command}`);
  expect(moved.exitCode).toBe(0);
  expect(actionsOf(await comer.fixture.run(`${keys} ${command}`))).toEqual({ present: ENDPOINTS + 6 });
  const idsAfter = new Map(itemsOf(moved).map(({ sourceId, targetId }) => [sourceId, targetId]));
  for (const list of ["serverless", "templates", "network-volumes", "registries", "account/ssh-keys"]) {
    expect(await listOf(second, list)).toEqual(await listOf(comer.edge, list, idsAfter));
  }
});

type Killed = {
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly recorded: number;
};

/** Kills a move between accounts of one edge when this many of its items are recorded. */
async function killOnce({ fixture, edge, record }: NewComer, { command, environment, recorded }: Killed) {
  const [program = "", ...args] = command.split(" ");
  const child = spawn(program, args, { cwd: fixture.project, env: environment, stdio: "ignore" });
  const exit = once(child, "exit");
  await until(
    async () => {
      const content = JSON.parse(await readFile(record, "utf8")) as Record<string, Record<string, object>>;
      const kinds = Object.values(content[`${edge.baseUrl} ${edge.baseUrl}`] ?? {});
      return kinds.reduce((sum, ids) => sum + Object.keys(ids).length, 0) >= recorded;
    },
    `${recorded} records`,
    60_000,
  );
  child.kill("SIGKILL");
  await exit;
}

/** A list of REST v2 without what is of each endpoint's own life, and with these ids for others. */
async function listOf(
  { baseUrl, apiKey }: EdgeAccess,
  list: string,
  ids: ReadonlyMap<string, string | null> = new Map(),
): Promise<unknown> {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${baseUrl}/v2/${list}`, { headers });
  return JSON.parse(await response.text(), (key, value: unknown) => {
    if (key === "createdAt" || key === "requestUrls") return undefined;
    return typeof value === "string" ? (ids.get(value) ?? value) : value;
  });
}

async function query(edge: EdgeAccess, document: string, variables: object = {}) {
  return await managementApi(edge.baseUrl, edge.apiKey).query<{ myself: Record<string, unknown[]> }>(
    document,
    variables as Record<string, unknown>,
  );
}
