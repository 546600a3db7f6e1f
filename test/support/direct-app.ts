/** The app of direct-app.mjs: its image, and how it is started as a plain process. */
import { fileURLToPath } from "node:url";
import { ensureNodeApp } from "../../scripts/images/node-image.ts";

const FILE = fileURLToPath(new URL("./direct-app.mjs", import.meta.url));

/** For the process runtime. */
export const DIRECT_APP_COMMAND = `"${process.execPath}" "${FILE}"`;

/** Makes sure that the image of the app as it stands is there, and returns its name. */
export async function ensureDirectAppImage(): Promise<string> {
  return (await ensureNodeApp("edgerun-test/direct-app", FILE, { packages: ["ws"] })).image;
}
