/** What an edge reports about the packages that it serves: the Python package and the `flash` command. */
import * as z from "zod";

export const PACKAGES_PATH = "/packages";
/** Beside the packages, written when they are built. */
export const PACKAGE_INDEX_FILE = "index.json";
/** Name of the Python package, and of the one for npm. */
export const PACKAGE_NAME = "edgerun";
/** What a requirements.txt of an app includes; it names the Python package of the edge, with its hash. */
export const PACKAGE_REQUIREMENTS_PATH = `${PACKAGES_PATH}/requirements.txt`;

const fileSchema = z.object({
  file: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int(),
});

export const packageIndexSchema = z.object({ version: z.string(), python: fileSchema, npm: fileSchema });
export type PackageIndex = z.infer<typeof packageIndexSchema>;
