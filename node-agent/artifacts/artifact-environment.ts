/** What a worker with an app's files learns about them. */
export type ArtifactView = {
  /** Where the worker sees the files. */
  readonly appDirectory: string;
  /** Where it sees the archive that they came in. */
  readonly archivePath: string;
};

/**
 * The worker's variables with those of its files. They precede everything else that Python imports, and Python writes
 * nothing beside them; `imagePythonPath` is what the image has set.
 */
export function artifactEnvironment(
  env: Readonly<Record<string, string>>,
  { appDirectory, archivePath }: ArtifactView,
  imagePythonPath = "",
): Record<string, string> {
  const others = env["PYTHONPATH"] ?? imagePythonPath;
  return {
    PYTHONUNBUFFERED: "1",
    PYTHONDONTWRITEBYTECODE: "1",
    FLASH_DISABLE_UNPACK: "1", // for images that would unpack the archive on their own
    ...env,
    PYTHONPATH: others === "" ? appDirectory : `${appDirectory}:${others}`,
    FLASH_APP_DIRECTORY: appDirectory,
    FLASH_BUILD_ARTIFACT_PATH: archivePath,
  };
}
