/** Characters of an image name; the rest of its grammar is the daemon's to judge. */
const IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:@-]*(\/[A-Za-z0-9][A-Za-z0-9_.:@-]*)*$/;

export function isImageName(text: string): boolean {
  return IMAGE_NAME.test(text);
}

/** Named by its content: it can never become another image. */
export function isPinned(imageName: string): boolean {
  return imageName.includes("@sha256:");
}

/** Registry that an image name points to. */
export function registryOf(imageName: string): string {
  const [first = "", ...rest] = imageName.split("/");
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  return isRegistry ? first : "https://index.docker.io/v1/";
}

/** An image name as the daemon lists it: Docker's own registry unsaid, the tag said. */
export function listedName(imageName: string): string {
  const name = imageName.replace(/^(index\.)?docker\.io\//, "").replace(/^library\//, "");
  if (isPinned(name)) return name;
  return /:[^/]*$/.test(name) ? name : `${name}:latest`;
}

/** The name without tag and digest, as the daemon lists it. */
export function repositoryOf(imageName: string): string {
  const [name = ""] = listedName(imageName).split("@");
  return name.replace(/:[^/:]*$/, "");
}
