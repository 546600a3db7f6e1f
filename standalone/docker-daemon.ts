const PING_LIMIT_MS = 3_000;

/** Whether a Docker daemon answers at the address in DOCKER_HOST, or at the default one. */
export async function dockerAnswers(): Promise<boolean> {
  // Loading takes a tenth of a second, so it happens only when this function is called.
  const { default: Docker } = await import("dockerode");
  try {
    await new Docker({ timeout: PING_LIMIT_MS }).ping();
    return true;
  } catch {
    return false;
  }
}
