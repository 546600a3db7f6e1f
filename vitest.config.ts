import { availableParallelism } from "node:os";
import { join } from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { buildAssets } from "./scripts/bundle/assets.ts";
import { pathWithPython } from "./test/support/python-path.ts";
import { LongestFirst } from "./test/support/longest-first.ts";

/**
 * Most test files wait for other processes most of their time, so a small machine runs more of them at a time than
 * it has cores. All projects stand in one queue; a file must therefore touch only what it has made itself: ports
 * that were free, directories, containers of its own endpoints.
 */
const maxWorkers = Math.max(6, availableParallelism() - 1);

/**
 * The tests of some projects compute all of their time, and each process first loads what they test, for the Workers
 * tests the whole edge: more processes than there are cores only load it more often. They run behind the files of the
 * other projects.
 */
const COMPUTING = { maxWorkers: Math.max(2, availableParallelism() - 1), sequence: { groupOrder: 1 } };

/** The tests start some hundred programs of ours: each is compiled once, not at every start. */
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node-compile");
delete process.env["PYTHONDONTWRITEBYTECODE"];
process.env["PATH"] = pathWithPython(process.env["PATH"] ?? "");

// Nowhere are files isolated: none of them changes its process, and one that follows another in the same process finds
// the modules loaded.
export default defineConfig({
  test: {
    maxWorkers,
    sequence: { sequencer: LongestFirst },
    // Of all projects, so that they share one edge; it starts when the first test asks for it.
    globalSetup: ["./test/support/edge-setup.ts"],
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "node-agent/**/*.test.ts",
            "cli/**/*.test.ts",
            "standalone/**/*.test.ts",
          ],
          isolate: false,
          ...COMPUTING,
          // A test that hangs is ended by this; beside other work, a long search may take ten times as long as alone.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "repository",
          include: ["test/lint/**/*.test.ts", "test/repository/**/*.test.ts"],
          isolate: false,
          ...COMPUTING,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        plugins: [
          cloudflareTest(async () => {
            await buildAssets(import.meta.dirname);
            return {
              main: "./test/workers/main.ts",
              wrangler: { configPath: "./wrangler.toml" },
              miniflare: {
                durableObjects: { SUBJECT: { className: "SubjectObject", useSQLite: true } },
                bindings: {
                  TEST_MIGRATIONS: await readD1Migrations("./drizzle"),
                  ROOT_API_KEY: "test-root-key-of-more-than-32-characters",
                  ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString("base64")}`,
                  WEBHOOK_ALLOW_PRIVATE: "true",
                  ALLOW_PLAIN_HTTP: "true",
                  // More runs of the model test, for a longer search than `npm test` makes.
                  MODEL_RUNS: process.env["MODEL_RUNS"] ?? "50",
                  // One history of it again.
                  MODEL_SEED: process.env["MODEL_SEED"] ?? "",
                  MODEL_PATH: process.env["MODEL_PATH"] ?? "",
                },
              },
            };
          }),
        ],
        test: {
          name: "workers",
          isolate: false,
          ...COMPUTING,
          include: ["test/workers/**/*.test.ts"],
          globalSetup: ["./test/workers/receiver-setup.ts"],
          setupFiles: ["./test/workers/setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "agent",
          include: ["test/agent/**/*.test.ts"],
          globalSetup: ["./test/agent/bundle-setup.ts"],
          isolate: false,
          // A test that hangs is ended by these; how long anything may take is no claim of any test.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
      {
        test: {
          name: "cli",
          include: ["test/cli/**/*.test.ts"],
          isolate: false,
          globalSetup: ["./test/e2e/bundle-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          isolate: false,
          globalSetup: ["./test/e2e/bundle-setup.ts"],
          // Container tests that run beside five other files on two cores may need minutes.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
    ],
  },
});
