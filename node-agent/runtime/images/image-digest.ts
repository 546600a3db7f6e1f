import type Dockerode from "dockerode";
import { isNotFound } from "../docker/docker-errors.ts";
import { repositoryOf } from "./image-name.ts";

/** By what content a container runs its image: the registry's digest, or the image's id where it came from none. */
export async function imageDigestOf(
  docker: Dockerode,
  container: Dockerode.ContainerInspectInfo,
): Promise<string | null> {
  const { Image: imageId, Config } = container;
  try {
    const { RepoDigests } = await docker.getImage(imageId).inspect();
    return digestIn(RepoDigests ?? [], Config.Image) ?? imageId;
  } catch (error) {
    if (isNotFound(error)) return imageId; // removed by force under a container that runs
    throw error;
  }
}

/** The digest under which an image came, of all under which the daemon knows it. */
export function digestIn(repoDigests: readonly string[], imageName: string): string | undefined {
  const repository = repositoryOf(imageName);
  return repoDigests.find((known) => known.startsWith(`${repository}@`))?.slice(repository.length + 1);
}
