/** Turns errors of Docker's daemon into messages with a fix. */
import { errorMessage } from "../../../src/std/errors.ts";
import type { WorkerSpec } from "../interface/runtime.ts";

/** HTTP status of the daemon's error; null when there was no answer. */
function statusOf(error: unknown): number | null {
  return hasField(error, "statusCode") && typeof error.statusCode === "number" ? error.statusCode : null;
}

export function isNotFound(error: unknown): boolean {
  return statusOf(error) === 404;
}

/** The container already is, or is about to be, in the requested state. */
export function isConflict(error: unknown): boolean {
  return statusOf(error) === 409 || statusOf(error) === 304;
}

export function isGoneOrConflict(error: unknown): boolean {
  return isNotFound(error) || isConflict(error);
}

/** The current state does not allow the request, such as removing a network that is in use. */
export function isForbidden(error: unknown): boolean {
  return statusOf(error) === 403;
}

/** The file system under Docker can not bound what a container writes. */
export function isQuotaUnsupported(error: unknown): boolean {
  return /storage-opt|quota/i.test(daemonMessage(error));
}

/** Message of the daemon's error without the client's prefix. */
function daemonMessage(error: unknown): string {
  const text = errorMessage(error);
  return text.replace(/^\(HTTP code \d+\) [^-]* - /, "").trim();
}

/** Describes what to do when the daemon gave no answer at all; null when it did answer. */
export function unreachableDaemon(error: unknown): string | null {
  if (!hasField(error, "code")) return null;
  if (error.code === "EACCES") {
    return "The agent may not talk to Docker. Run it as root, or add its user to the group docker.";
  }
  if (error.code === "ENOENT" || error.code === "ECONNREFUSED") {
    return "Docker does not answer on this host. Check that its daemon runs (systemctl status docker).";
  }
  if (error.code === "ECONNRESET") {
    return "Docker gave no answer, or went away in the middle of it. Check that its daemon is well (systemctl status docker).";
  }
  return null;
}

export function invalidImageName(imageName: string): string {
  return `"${imageName}" is not a valid image name. Write it as [registry/]name[:tag], in small letters.`;
}

/** The registry stopped sending without closing the connection. */
export function stalledPull(imageName: string, stallMs: number): string {
  return `The pull of image ${imageName} was given up: nothing came from its registry for ${stallMs / 1_000} s.`;
}

/** Why an image is not on this host. `answer` is the response, possibly of any server, without the login. */
export type PullFailure = { readonly message: string; readonly answer: string };

export function pullFailure(
  request: Pick<WorkerSpec, "imageName" | "registryAuth">,
  error: unknown,
): PullFailure {
  const answer = withoutLogin(daemonMessage(error), request.registryAuth);
  return { message: pullMessage(request, unreachableDaemon(error), answer), answer };
}

/** What kind of failure it is, and what to do about it. Nothing of the answer is repeated. */
function pullMessage(
  { imageName, registryAuth }: Pick<WorkerSpec, "imageName" | "registryAuth">,
  unreachable: string | null,
  text: string,
): string {
  if (unreachable) return `Image ${imageName} could not be pulled. ${unreachable}`;
  if (/invalid reference|repository name must be|invalid tag/i.test(text)) return invalidImageName(imageName);
  if (registryAuth && LOGIN_REFUSED.test(text) && !/toomanyrequests|rate limit/i.test(text)) {
    const called = registryAuth.name ? ` '${registryAuth.name}'` : "";
    return `The registry refused the credentials${called} for image ${imageName}. Check their user name, password and right to read it (updateRegistryAuth).`;
  }
  const known = PULL_FAILURES.find(({ pattern }) => pattern.test(text));
  const advice = FLASH_IMAGE.test(imageName) ? ` ${FLASH_ADVICE}` : "";
  return `Image ${imageName} ${known?.message ?? UNKNOWN_FAILURE}${advice}`;
}

const UNKNOWN_FAILURE =
  "could not be pulled. The log of the agent on that host (image_not_pulled) has the answer of its registry.";

/** The images that an app gets unless it names others. */
const FLASH_IMAGE = /^edgerun\/flash(-lb)?(-cpu)?:/;
const FLASH_ADVICE =
  "It runs flash apps: make it on this host with `npm run images -- flash` in Edgerun's repository (Python 3.11), " +
  "or deploy with an image that a registry has (FLASH_CPU_IMAGE, FLASH_GPU_IMAGE, FLASH_CPU_LB_IMAGE, FLASH_LB_IMAGE).";

/** Answers of registries to a login without access; some deny that the image exists. */
const LOGIN_REFUSED =
  /unauthorized|authentication required|authentication failed|no basic auth|denied|incorrect username|repository does not exist/i;

/** Some registry addresses contain the user name, and the daemon's answer repeats them. */
function withoutLogin(text: string, auth: WorkerSpec["registryAuth"]): string {
  if (auth === null) return text;
  const spellings = [auth.password, encodeURIComponent(auth.password)];
  const hidden = spellings.reduce((cut, spelling) => cut.replaceAll(spelling, "***"), text);
  return hidden.replaceAll(/account=[^&\s"]*/g, "account=***");
}

/** In the order in which they are tried: the first that matches speaks. */
const PULL_FAILURES: readonly { readonly pattern: RegExp; readonly message: string }[] = [
  {
    pattern: /no space left/i,
    message: "does not fit on this host's disk. Free space, for example with docker image prune.",
  },
  {
    pattern: /no matching manifest|does not match the (specified|detected) (host )?platform/i,
    message: "does not exist for this host's processor. Build it for this platform.",
  },
  {
    pattern: /toomanyrequests|rate limit/i,
    message:
      "is refused by its registry for too many pulls. Give the template registry credentials, or wait.",
  },
  {
    pattern: /pull access denied|repository does not exist/i,
    message:
      "was not found in its registry, or is private. Check its name and tag, and give the template registry credentials if it is private.",
  },
  {
    pattern: /unauthorized|authentication required|no basic auth|denied|incorrect username/i,
    message:
      "is refused by its registry. Check the template's registry credentials and their right to read it.",
  },
  {
    pattern: /manifest unknown|not found|name unknown/i,
    message: "was not found in its registry. Check its name and tag.",
  },
  {
    pattern:
      /dial tcp|no such host|timeout|timed out|deadline exceeded|connection|certificate|tls|EOF|server gave HTTP/i,
    message:
      "could not be pulled: its registry is not reachable from this host. Check network, DNS and proxy.",
  },
];

/** Why Docker refused to start a worker, and what to do about it. */
export function startFailure(workerId: string, imageName: string, error: unknown): string {
  const unreachable = unreachableDaemon(error);
  if (unreachable) return `Worker ${workerId} could not be started. ${unreachable}`;
  if (statusOf(error) === null) return `Worker ${workerId} could not be started. ${daemonMessage(error)}`;
  const text = daemonMessage(error);
  const known = START_FAILURES.find(({ pattern }) => pattern.test(text));
  const advice = known ? ` ${known.advice}` : "";
  return `Docker refused to start worker ${workerId} of image ${imageName}: ${text}.${advice}`;
}

const START_FAILURES: readonly { readonly pattern: RegExp; readonly advice: string }[] = [
  { pattern: /no such image/i, advice: "The image is not on this host; it has to be pulled first." },
  {
    pattern: /could not select device driver|nvidia-container|unknown or invalid runtime/i,
    advice: "Install the NVIDIA Container Toolkit on this host and restart Docker.",
  },
  {
    pattern: /executable file not found|no such file or directory|no command specified/i,
    advice: "Check the start command of the image and the start arguments (dockerArgs).",
  },
];

function hasField<Name extends string>(value: unknown, name: Name): value is Record<Name, unknown> {
  return typeof value === "object" && value !== null && name in value;
}
