import Dockerode from "dockerode";
import * as z from "zod";
import { freeBytesOf } from "../../disk/disk-space.ts";
import { isNotFound } from "./docker-errors.ts";

/** Label of all containers of a host; its value is the id of the host. */
export const HOST_LABEL = "edgerun.host";

/** The same daemon, with calls that fail without an answer within the limit. Not for streams. */
export function withTimeLimit(docker: Dockerode, limitMs: number): Dockerode {
  const limited = new Dockerode();
  limited.modem = Object.assign(Object.create(docker.modem), { timeout: limitMs });
  return limited;
}

/** Selects what belongs to a host, in calls that list. */
export function ofHost(hostId: string): { readonly label: string[] } {
  return { label: [`${HOST_LABEL}=${hostId}`] };
}

/** All containers of a host, in any state. */
export function listContainers(docker: Dockerode, hostId: string): Promise<Dockerode.ContainerInfo[]> {
  return docker.listContainers({ all: true, filters: ofHost(hostId) });
}

/** Null for a container that does not exist. */
export async function inspect(
  container: Dockerode.Container,
): Promise<Dockerode.ContainerInspectInfo | null> {
  return (await ignoring(isNotFound, container.inspect())) ?? null;
}

/** Awaits a call; undefined when it fails with an expected error. */
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

const rootSchema = z.object({ DockerRootDir: z.string() });

/** Where Docker stores images and containers on this host; null when the daemon does not report it. */
export async function dockerRoot(docker = new Dockerode()): Promise<string | null> {
  const info: unknown = await docker.info().catch(() => null);
  return rootSchema.safeParse(info).data?.DockerRootDir ?? null;
}

/** Reads the free space where Docker keeps images, in bytes; null when this process cannot see it. */
export function freeBytesReader(docker: Dockerode): () => Promise<number | null> {
  let root: string | null = null;
  return async () => {
    root ??= await dockerRoot(docker);
    return root === null ? null : freeBytesOf(root);
  };
}

/** Values of a stream that holds one JSON text per line. */
export async function* jsonLines(stream: NodeJS.ReadableStream): AsyncGenerator<unknown> {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line.trim() !== "").map((line): unknown => JSON.parse(line));
  }
  if (rest.trim() !== "") yield JSON.parse(rest);
}
