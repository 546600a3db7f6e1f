/** Descriptions of the packages for users, pip, uv and npm. */
import {
  PACKAGE_NAME,
  PACKAGE_REQUIREMENTS_PATH,
  type PackageIndex,
  PACKAGES_PATH,
} from "../../contract/flash/packages.ts";

export const SIMPLE_JSON = "application/vnd.pypi.simple.v1+json";

/** Names the Python package by its URL, so that pip queries no index and checks the hash. */
export function requirementsText({ python }: PackageIndex, origin: string): string {
  return [
    "# The Python package of this Edgerun, with the flash command in it, at its own address: no index is asked for it.",
    `${PACKAGE_NAME} @ ${origin}${PACKAGES_PATH}/${python.file}#sha256=${python.sha256}`,
    "",
  ].join("\n");
}

/** For `GET /packages`. */
export function packageSummary({ version, python, npm }: PackageIndex, origin: string) {
  const at = ({ file, sha256, bytes }: PackageIndex["python"]) => ({
    url: `${origin}${PACKAGES_PATH}/${file}`,
    sha256,
    bytes,
  });
  return {
    version,
    python: { ...at(python), install: `pip install -r ${origin}${PACKAGE_REQUIREMENTS_PATH}` },
    npm: { ...at(npm), install: `npm install -g ${origin}${PACKAGES_PATH}/${npm.file}` },
    index: `${origin}${PACKAGES_PATH}/simple/`,
  };
}

/** See PEP 503. */
export function indexPage(): string {
  return page("Packages", `<a href="${PACKAGES_PATH}/simple/${PACKAGE_NAME}/">${PACKAGE_NAME}</a>`);
}

/** See PEP 503. */
export function projectPage({ python }: PackageIndex): string {
  const path = `${PACKAGES_PATH}/${python.file}#sha256=${python.sha256}`;
  return page(PACKAGE_NAME, `<a href="${path}">${python.file}</a>`);
}

/** See PEP 691; without `meta`. */
export function simpleJson({ version, python }: PackageIndex) {
  const file = {
    filename: python.file,
    url: `${PACKAGES_PATH}/${python.file}`,
    hashes: { sha256: python.sha256 },
    size: python.bytes,
  };
  return { name: PACKAGE_NAME, versions: [version], files: [file] };
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="pypi:repository-version" content="1.1"><title>${title}</title></head><body>${body}</body></html>\n`;
}
