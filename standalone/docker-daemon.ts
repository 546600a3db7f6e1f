const PING_LIMIT_MS = 3_000;

/** Whether a Docker daemon answers where DOCKER_HOST says, or at the usual place. */
export async function dockerAnswers(): Promise<boolean> {
  // Takes a tenth of a second to load, which who does not ask does without.
  const { default: Docker } = await import("dockerode");
  try {
    await new Docker({ timeout: PING_LIMIT_MS }).ping();
    return true;
  } catch {
    return false;
  }
}
