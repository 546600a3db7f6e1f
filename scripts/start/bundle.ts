import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { buildAssets } from "../assets.ts";
import { StartFailure } from "./failure.ts";

type BuildFailure = Error & { readonly stdout: string; readonly stderr: string };

/** Builds the Worker script exactly as a deployment would, without talking to anybody. */
export async function buildEdgeBundle(root: string, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await buildAssets(root);
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "deploy", "--dry-run", "--outdir", directory];
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true", CI: "1" };
  await new Promise<void>((resolve, reject) => {
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) => {
      if (!error) resolve();
      else
        reject(new StartFailure("The edge could not be built.", ...reasonOf({ ...error, stdout, stderr })));
    });
  });
}

function reasonOf({ stdout, stderr }: Pick<BuildFailure, "stdout" | "stderr">): readonly string[] {
  return `${stdout}\n${stderr}`.trim().split("\n");
}
