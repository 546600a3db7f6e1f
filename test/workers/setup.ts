import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, vi } from "vitest";
import { authenticate, forgetApiKey } from "../../src/auth/principal.ts";

// One runtime runs many files, and each of them begins with nothing. What the script remembers is not reset with
// what is stored: the root key must not be taken for that of the account before.
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
const root = await authenticate(env, env.ROOT_API_KEY, Date.now());
if (root.kind === "principal") forgetApiKey(root.apiKeyId);
await reset();
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

// The runtime shares this clock: a test that sets it would freeze it for all later tests.
afterEach(() => void vi.useRealTimers());
