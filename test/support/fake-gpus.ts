/**
 * GPUs that are not there: a Docker client whose daemon need not know NVIDIA's devices, and an nvidia-smi that reports as
 * the memory of a process what a file says.
 */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Dockerode from "dockerode";
import * as z from "zod";

/** The variable of a worker that names the file of its memory, in MiB. */
export const FAKE_MEMORY_FILE = "FAKE_GPU_MEMORY_FILE";

/**
 * Answers the query for processes as nvidia-smi does: a line for each process of this machine whose environment names a
 * file. Of a container that is its program alone, not the one that reaps its processes.
 */
const NVIDIA_SMI = `#!/bin/sh
[ "$*" = "--query-compute-apps=pid,used_memory,gpu_uuid --format=csv,noheader,nounits" ] || exit 2
for process in /proc/[0-9]*; do
  grep -q docker-init "$process/comm" 2>/dev/null && continue
  file=$(tr '\\0' '\\n' 2>/dev/null < "$process/environ" | sed -n 's/^${FAKE_MEMORY_FILE}=//p')
  [ -n "$file" ] && [ -e "$file" ] && echo "\${process#/proc/}, $(cat "$file"), GPU-fake"
done
exit 0
`;

/** Makes an nvidia-smi in the directory; returns its path. */
export async function makeNvidiaSmi(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, "nvidia-smi");
  await writeFile(path, NVIDIA_SMI);
  await chmod(path, 0o755);
  return path;
}

const creationSchema = z.looseObject({
  name: z.string(),
  HostConfig: z.looseObject({
    DeviceRequests: z.array(z.looseObject({ Driver: z.string(), DeviceIDs: z.array(z.string()) })).optional(),
  }),
});

type Dial = (options: { readonly path: string; readonly options?: unknown }, done: unknown) => unknown;

/** A client that keeps requests for devices to itself; `requested` gets their ids by container. */
export function dockerWithoutDevices(requested: Map<string, readonly string[]>): Dockerode {
  const docker = new Dockerode();
  const modem = docker.modem as { dial: Dial };
  const { dial } = modem;
  modem.dial = function (this: unknown, call, done) {
    const creation =
      call.path.startsWith("/containers/create") && creationSchema.safeParse(call.options).data;
    if (!creation) return dial.call(this, call, done);
    const { DeviceRequests = [], ...hostConfig } = creation.HostConfig;
    requested.set(
      creation.name,
      DeviceRequests.flatMap(({ DeviceIDs }) => DeviceIDs),
    );
    return dial.call(this, { ...call, options: { ...creation, HostConfig: hostConfig } }, done);
  };
  return docker;
}
