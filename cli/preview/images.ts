/** The images that containers of a preview start from. */
import type Dockerode from "dockerode";
import { isNotFound, pullFailure, stalledPull } from "../../node-agent/runtime/daemon/docker-errors.ts";
import { PullError, pullImage } from "../../node-agent/runtime/images/image-pull.ts";
import { PULL_STALL_MS } from "../../src/contract/limits.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../core/failure.ts";
import type { WorkerPlan } from "./worker-plan.ts";

/**
 * Brings those that are not here, one after the other; those that run the app's files for the platform that these are
 * built for. Throws a Failure that says which one cannot be had, and why.
 */
export async function ensureImages(
  cli: Cli,
  docker: Dockerode,
  plans: readonly Pick<WorkerPlan, "imageName" | "hasArtifact">[],
  platform: string | undefined,
): Promise<void> {
  const wanted = new Map(plans.map(({ imageName, hasArtifact }) => [imageName, hasArtifact]));
  for (const [name, hasArtifact] of wanted) {
    if (!(await hasImage(docker, name))) await pull(cli, docker, name, hasArtifact ? platform : undefined);
  }
}

/** What an image sets a variable to; empty for nothing. */
export async function imageVariable(docker: Dockerode, image: string, name: string): Promise<string> {
  const { Config } = await docker.getImage(image).inspect();
  const prefix = `${name}=`;
  return Config.Env?.find((variable) => variable.startsWith(prefix))?.slice(prefix.length) ?? "";
}

async function hasImage(docker: Dockerode, name: string): Promise<boolean> {
  try {
    await docker.getImage(name).inspect();
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function pull(cli: Cli, docker: Dockerode, name: string, platform: string | undefined): Promise<void> {
  const step = cli.terminal.step(`Pulling ${name}`);
  try {
    await pullImage(
      docker,
      { imageName: name, registryAuth: null, platform },
      {
        signal: cli.signal,
        stallMs: PULL_STALL_MS,
        answerLimitMs: PULL_STALL_MS,
        // Such as "pulling image x: 2 of 5 layers, 12 of 90 MB".
        onProgress: (detail) => step.update(detail.split(": ").slice(1).join(": ")),
      },
    );
    step.done(`Pulled ${name}`);
  } catch (error) {
    step.fail(`Pulling ${name} failed`);
    cli.signal.throwIfAborted();
    throw new Failure(reasonOf(name, error));
  }
}

function reasonOf(imageName: string, error: unknown): string {
  if (error instanceof PullError && error.stalledForMs !== null)
    return stalledPull(imageName, error.stalledForMs);
  const cause = error instanceof PullError ? error.cause : error;
  const { message, answer } = pullFailure({ imageName, registryAuth: null }, cause);
  return `${message} The answer was: ${answer}`; // to who has named the image, on a computer of their own
}
