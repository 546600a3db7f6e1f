import { chmod, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { ensureFlashDirectory } from "./project.ts";

test(".flash is closed to other users, also one that was open", async ({ expect }) => {
  const project = await mkdtemp(join(tmpdir(), "edgerun-flash-"));
  try {
    const path = await ensureFlashDirectory(project);
    const mode = async () => (await stat(path)).mode & 0o777;
    expect(await mode()).toBe(0o700);
    await chmod(path, 0o755);
    await mkdir(join(path, "logs"));
    await ensureFlashDirectory(project);
    expect(await mode()).toBe(0o700);
  } finally {
    await rm(project, { recursive: true });
  }
});
