import Dockerode from "dockerode";
import { isNotFound } from "./docker-errors.ts";

/** The same daemon, with calls that fail when no answer comes for so long. Not for streams. */
export function withTimeLimit(docker: Dockerode, limitMs: number): Dockerode {
  const limited = new Dockerode();
  limited.modem = Object.assign(Object.create(docker.modem), { timeout: limitMs });
  return limited;
}

/** Null for a container that is not there. */
export async function inspect(
  container: Dockerode.Container,
): Promise<Dockerode.ContainerInspectInfo | null> {
  return (await ignoring(isNotFound, container.inspect())) ?? null;
}

/** Awaits a call, and takes a refusal of the expected kind for no answer. */
export async function ignoring<T>(
  isExpected: (error: unknown) => boolean,
  call: Promise<T>,
): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}
