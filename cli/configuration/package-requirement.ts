/** The line of a requirements.txt by which an app gets the Python package: from its own Edgerun, and nowhere else. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGE_REQUIREMENTS_PATH } from "../../src/contract/flash/packages.ts";

const FILE = "requirements.txt";
/** Stands there until it is known where the Edgerun is. */
const OPEN_LINE = /^# -r https:\/\/your-edge\.example\/packages\/requirements\.txt$/m;

/** `address` is that of the service; undefined while none was chosen. */
export function requirementsContent(url: string | undefined): string {
  const line = `-r ${url ?? "https://your-edge.example"}${PACKAGE_REQUIREMENTS_PATH}`;
  return [
    "# The Python package of flash, from your own Edgerun: no public registry has it. Workers have it already.",
    ...(url === undefined ? ["# `flash login` puts the address of yours here.", `# ${line}`] : [line]),
    "",
    "# Packages that your functions need come below.",
    "",
  ].join("\n");
}

/** Puts the address where {@link requirementsContent} has left it open; true when it did. */
export async function completeRequirements(directory: string, url: string): Promise<boolean> {
  const path = join(directory, FILE);
  const content = await readFile(path, "utf8").catch(() => "");
  if (!OPEN_LINE.test(content)) return false;
  await writeFile(
    path,
    content.replace(OPEN_LINE, () => `-r ${url}${PACKAGE_REQUIREMENTS_PATH}`),
  );
  return true;
}
