import Dockerode from "dockerode";

/** The same daemon, with calls that fail when no answer comes for so long. Not for streams. */
export function withTimeLimit(docker: Dockerode, limitMs: number): Dockerode {
  const limited = new Dockerode();
  limited.modem = Object.assign(Object.create(docker.modem), { timeout: limitMs });
  return limited;
}
