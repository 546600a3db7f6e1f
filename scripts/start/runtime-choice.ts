import Docker from "dockerode";
import { StartFailure } from "./failure.ts";
import type { RuntimeKind } from "./options.ts";

const PING_LIMIT_MS = 3_000;

async function dockerAnswers(): Promise<boolean> {
  try {
    await new Docker({ timeout: PING_LIMIT_MS }).ping();
    return true;
  } catch {
    return false;
  }
}

/** Docker when a daemon answers, else plain processes; what was asked for by name must be there. */
export async function chooseRuntime(asked: RuntimeKind | undefined): Promise<RuntimeKind> {
  if (asked === "process") return "process";
  if (await dockerAnswers()) return "docker";
  if (asked === undefined) return "process";
  throw new StartFailure(
    "No Docker daemon answers.",
    "Start Docker (or set DOCKER_HOST), or run workers as plain processes:",
    "npm start -- --runtime process",
  );
}
