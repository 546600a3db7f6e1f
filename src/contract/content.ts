/** What hosts store of what workers need: images by name, files of apps by SHA-256, models by id. */
import * as z from "zod";

/** What a host reports at most. */
export const HOST_CONTENTS_MAX = 256;
const CONTENT_MAX_CHARACTERS = 1_100;

export const contentSchema = z
  .string()
  .regex(/^(image|files|model):./)
  .max(CONTENT_MAX_CHARACTERS);

export function imageContent(imageName: string): string {
  return `image:${listedName(imageName).replace(/:[^/:@]+@/, "@")}`; // beside a digest a tag means nothing
}

export function filesContent(sha256: string): string {
  return `files:${sha256}`;
}

/** `id`: `org/name`; a host that has another revision has most of its files. */
export function modelContent(id: string): string {
  return `model:${id}`;
}

/** Without an image nothing starts, whatever else is there. */
export function isImageContent(content: string): boolean {
  return content.startsWith("image:");
}

/** An image name as Docker lists it: without Docker's own registry, with the tag. */
export function listedName(imageName: string): string {
  const name = imageName.replace(/^(index\.)?docker\.io\//, "").replace(/^library\//, "");
  if (name.includes("@sha256:")) return name;
  return name.slice(name.lastIndexOf("/") + 1).includes(":") ? name : `${name}:latest`;
}
