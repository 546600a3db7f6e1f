/** The app of load-balanced-app.mjs: its image, and how it is started as a plain process. */
import { fileURLToPath } from "node:url";
import { ensureNodeApp } from "../../scripts/images/node-image.ts";

const FILE = fileURLToPath(new URL("./load-balanced-app.mjs", import.meta.url));

/** For the process runtime. */
export const LOAD_BALANCED_APP_COMMAND = `"${process.execPath}" "${FILE}"`;

/** Makes sure that the image of the app as it stands is there, and returns its name. */
export async function ensureLoadBalancedAppImage(): Promise<string> {
  return (await ensureNodeApp("edgerun-test/load-balanced-app", FILE, { packages: ["ws"] })).image;
}
