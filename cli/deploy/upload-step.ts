import prettyBytes from "pretty-bytes";
import type { Cli } from "../core/cli.ts";
import type { Service } from "../service/service.ts";
import { secondsSince } from "../terminal/seconds.ts";
import { type Upload, uploadBuild } from "./upload.ts";

/** Uploads a build before the eyes of the person; answers its id. */
export async function uploadWithProgress(cli: Cli, service: Service, upload: Upload): Promise<string> {
  const startedAt = performance.now();
  const step = cli.terminal.step("Uploading");
  try {
    const uploaded = await uploadBuild(service, upload, step, cli.signal);
    if (uploaded.wasThere) step.done("Nothing to upload: the service has this artifact");
    else step.done(`Uploaded ${prettyBytes(uploaded.sentBytes)} (${secondsSince(startedAt)} s)`);
    return uploaded.buildId;
  } catch (error) {
    step.fail("Uploading failed");
    throw error;
  }
}
