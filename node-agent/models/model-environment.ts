/** How workers find models. */

/** What a worker with models learns about them. Its own variables win. */
export function modelEnvironment(
  env: Readonly<Record<string, string>>,
  hubPath: string,
): Readonly<Record<string, string>> {
  return { HF_HUB_CACHE: hubPath, HF_HUB_OFFLINE: "1", ...env };
}

/** As Hugging Face's libraries name the folder of a model. */
export function folderOf(id: string): string {
  return `models--${id.replace("/", "--")}`;
}
