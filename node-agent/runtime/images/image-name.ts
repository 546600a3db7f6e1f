import { listedName } from "../../../src/contract/content.ts";

/** Characters of an image name; the rest of its grammar is the daemon's to judge. */
const IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:@-]*(\/[A-Za-z0-9][A-Za-z0-9_.:@-]*)*$/;

const DOCKER_REGISTRY = "https://index.docker.io/v1/";

export function isImageName(imageName: string): boolean {
  return IMAGE_NAME.test(imageName) && !isNameOrHost(imageName);
}

/** Capitals in front, without a dot or port: older daemons take that for a wrong name, newer ones for a host. */
function isNameOrHost(imageName: string): boolean {
  const slash = imageName.indexOf("/");
  const first = imageName.slice(0, Math.max(0, slash));
  return /[A-Z]/.test(first) && !/[.:]/.test(first);
}

/** Named by its content: it can never become another image. */
export function isPinned(imageName: string): boolean {
  return imageName.includes("@sha256:");
}

/** Registry that an image name points to. */
export function registryOf(imageName: string): string {
  const [first = "", ...rest] = imageName.split("/");
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  return isRegistry ? first : DOCKER_REGISTRY;
}

/** Host of the registry, with all spellings of an IP address brought into one; null for Docker's own registry. */
export function hostOfRegistry(
  imageName: string,
): { readonly written: string; readonly hostname: string } | null {
  const written = registryOf(imageName);
  if (written === DOCKER_REGISTRY) return null;
  const url = `http://${written}`;
  return { written, hostname: URL.canParse(url) ? new URL(url).hostname : written };
}

/** The name without tag and digest, as the daemon lists it. */
export function repositoryOf(imageName: string): string {
  const [name = ""] = listedName(imageName).split("@");
  return name.replace(/:[^/:]*$/, "");
}
