/**
 * Docker for tests: whether there is one, and an image that needs no registry.
 *
 * Without a daemon, container tests are skipped with a warning; with REQUIRE_DOCKER=1 they fail instead.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Dockerode from "dockerode";
import { findStaticBusybox } from "../../scripts/images/busybox.ts";

const run = promisify(execFile);

export const TEST_IMAGE = "edgerun-test/busybox:latest";
const TEST_REPOSITORY = "edgerun-test/busybox";
/** Used only where neither this machine nor its package archive has a static busybox. */
const PUBLIC_IMAGE = "busybox:1.36";
const COMMANDS = [
  "sh",
  "cat",
  "echo",
  "env",
  "grep",
  "id",
  "kill",
  "printf",
  "setsid",
  "sleep",
  "touch",
  "wget",
];

/** Says whether container tests can run here, and cries out when they can not. */
export async function isDockerAvailable(docker = new Dockerode()): Promise<boolean> {
  try {
    await docker.ping();
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (process.env["REQUIRE_DOCKER"] === "1") {
      throw new Error(`REQUIRE_DOCKER=1, but no Docker daemon answers: ${reason}`, { cause: error });
    }
    process.stderr.write(`\n!!!!!! CONTAINER TESTS SKIPPED: no Docker daemon answers (${reason}) !!!!!!\n\n`);
    return false;
  }
}

/** Makes sure that the test image is there, and returns its name. It stays for the next run. */
export async function ensureTestImage(docker = new Dockerode()): Promise<string> {
  if (await hasImage(docker, TEST_IMAGE)) return TEST_IMAGE;
  const scratch = await mkdtemp(join(tmpdir(), "edgerun-busybox-"));
  try {
    const busybox = await findStaticBusybox(scratch);
    if (busybox === null) await takePublicImage(docker);
    else await importImage(docker, await packRoot(scratch, busybox));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return TEST_IMAGE;
}

async function hasImage(docker: Dockerode, name: string): Promise<boolean> {
  return docker
    .getImage(name)
    .inspect()
    .then(
      () => true,
      () => false,
    );
}

// Making the image

async function packRoot(scratch: string, busybox: string): Promise<string> {
  const root = join(scratch, "root");
  for (const directory of ["bin", "etc", "tmp"]) await mkdir(join(root, directory), { recursive: true });
  await copyFile(busybox, join(root, "bin/busybox"));
  for (const command of COMMANDS) await symlink("busybox", join(root, "bin", command));
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/tmp:/bin/sh\n");
  const archive = join(scratch, "root.tar");
  await run("tar", ["-C", root, "--owner=0", "--group=0", "-cf", archive, "."]);
  return archive;
}

/** Another test run may do the same: the image is made under a tag of its own and renamed at the end. */
async function importImage(docker: Dockerode, archive: string): Promise<void> {
  const draft = `build-${process.pid}`;
  await drain(await docker.importImage(archive, { repo: TEST_REPOSITORY, tag: draft }));
  const image = docker.getImage(`${TEST_REPOSITORY}:${draft}`);
  if (!(await hasImage(docker, TEST_IMAGE))) await image.tag({ repo: TEST_REPOSITORY, tag: "latest" });
  await image.remove();
}

async function takePublicImage(docker: Dockerode): Promise<void> {
  await drain(await docker.pull(PUBLIC_IMAGE));
  await docker.getImage(PUBLIC_IMAGE).tag({ repo: TEST_REPOSITORY, tag: "latest" });
}

async function drain(stream: NodeJS.ReadableStream): Promise<void> {
  for await (const chunk of stream) if (/"error"/.test(String(chunk))) throw new Error(String(chunk));
}
