/** The line of a requirements.txt by which an app gets the Python package: from its own Edgerun, and nowhere else. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGE_REQUIREMENTS_PATH } from "../../src/contract/packages.ts";

const FILE = "requirements.txt";
/** Stands there until it is known where the Edgerun is. */
const OPEN_LINE = /^# -r https:\/\/your-edge\.example\/packages\/requirements\.txt$/m;

/** `address` is that of the service; undefined while none was chosen. */
export function requirementsText(address: string | undefined): string {
  const line = `-r ${address ?? "https://your-edge.example"}${PACKAGE_REQUIREMENTS_PATH}`;
  return [
    "# The Python package of flash, from your own Edgerun: no public registry has it. Workers have it already.",
    ...(address === undefined ? ["# `flash login` puts the address of yours here.", `# ${line}`] : [line]),
    "",
    "# Packages that your functions need come below.",
    "",
  ].join("\n");
}

/** Puts the address where {@link requirementsText} has left it open; true when it did. */
export async function completeRequirements(directory: string, address: string): Promise<boolean> {
  const path = join(directory, FILE);
  const text = await readFile(path, "utf8").catch(() => "");
  if (!OPEN_LINE.test(text)) return false;
  await writeFile(
    path,
    text.replace(OPEN_LINE, () => `-r ${address}${PACKAGE_REQUIREMENTS_PATH}`),
  );
  return true;
}
