import { dockerAnswers } from "../../standalone/docker-daemon.ts";
import { StartFailure } from "../../standalone/failure.ts";
import type { RuntimeKind } from "../../standalone/agent.ts";

/** Docker when a daemon answers, else plain processes; what was asked for by name must be there. */
export async function chooseRuntime(requested: RuntimeKind | undefined): Promise<RuntimeKind> {
  if (requested === "process") return "process";
  if (await dockerAnswers()) return "docker";
  if (requested === undefined) return "process";
  throw new StartFailure(
    "No Docker daemon answers.",
    "Start Docker (or set DOCKER_HOST), or run workers as plain processes:",
    "npm start -- --runtime process",
  );
}
