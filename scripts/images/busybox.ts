/** A busybox that needs no libraries: of this machine, or from Debian's package. */
import { execFile } from "node:child_process";
import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Path of the program, perhaps unpacked into the scratch folder; null where there is none to be had. */
export async function findStaticBusybox(scratch: string): Promise<string | null> {
  for (const path of ["/bin/busybox", "/usr/bin/busybox"]) if (await isStatic(path)) return path;
  return unpackDebianPackage(scratch).catch(() => null);
}

async function isStatic(path: string): Promise<boolean> {
  try {
    await access(path);
    await run("ldd", [path]);
    return false;
  } catch (error) {
    const output = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    return /not a dynamic executable/.test(output);
  }
}

async function unpackDebianPackage(scratch: string): Promise<string> {
  await run("apt-get", ["download", "busybox-static"], { cwd: scratch });
  const archive = (await readdir(scratch)).find((name) => name.endsWith(".deb"));
  if (!archive) throw new Error("apt-get brought no package.");
  await run("dpkg", ["-x", archive, "unpacked"], { cwd: scratch });
  for (const place of ["bin", "usr/bin"]) {
    const path = join(scratch, "unpacked", place, "busybox");
    if (await isStatic(path)) return path;
  }
  throw new Error("The package holds no static busybox.");
}
