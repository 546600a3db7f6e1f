/**
 * Starts sshd and Jupyter in the container of a pod that wants them. Images made for pods do that by themselves, so each
 * gets time for it first; what then does not listen is started, where the image has the program. Commands of users
 * often install it first, so a program that is missing, or could not be started, is looked for again, less and less often.
 */
import type { PodService } from "../../../src/contract/agent/agent.ts";
import { errorMessage } from "../../../src/std/errors.ts";
import type { AgentLog, LogFields } from "../../core/log.ts";
import type { Runtime } from "../../runtime/interface/runtime.ts";

export type PodServicesOptions = {
  readonly podId: string;
  readonly runtime: Pick<Runtime, "kind" | "exec" | "listening">;
  readonly log: AgentLog;
  /** Time for the image's own start script. */
  readonly graceMs: number;
};

type Program = {
  readonly port: number;
  /** Ends with status 0 when it was started, and with MISSING when the image has no such program. */
  readonly script: string;
};

const MISSING = 127;

/** The last look is 15 times the grace after the container began to run. */
const MAX_LOOKS = 4;

/**
 * sshd gives sessions none of its own variables, so those of the container are written to where it reads them, and to
 * the file that images made for pods have: clients that run commands source it and .bashrc first, and do nothing
 * without them. Keys that are there already stay.
 */
const SSHD = `
  program=$(command -v sshd || echo /usr/sbin/sshd)
  [ -x "$program" ] || exit ${MISSING}
  umask 077
  mkdir -p ~/.ssh
  printf '%s\\n' "$PUBLIC_KEY" | while IFS= read -r key; do
    grep -qxF -- "$key" ~/.ssh/authorized_keys 2>/dev/null || printf '%s\\n' "$key" >> ~/.ssh/authorized_keys
  done
  env | grep -E '^[A-Za-z_][A-Za-z0-9_]*=' | grep -vE '^(HOME|PWD|SHLVL|_)=' > ~/.ssh/environment
  [ -e ~/.bashrc ] || : > ~/.bashrc
  [ -e /etc/rp_environment ] || (umask 077; unset HOME PWD SHLVL; export -p > /etc/rp_environment)
  mkdir -p -m 755 /run/sshd
  ssh-keygen -A >/dev/null 2>&1
  exec "$program" -o PermitUserEnvironment=yes -o PermitRootLogin=prohibit-password
`;

const JUPYTER = `
  command -v jupyter >/dev/null 2>&1 || exit ${MISSING}
  cd "\${EDGERUN_VOLUME:-/}" || cd /
  command -v jupyter-lab >/dev/null 2>&1 && kind=lab || kind=notebook
  export JUPYTER_TOKEN="$JUPYTER_PASSWORD"
  detach=$(command -v setsid || command -v nohup)
  $detach jupyter "$kind" --allow-root --no-browser --ip=0.0.0.0 --port=8888 >/dev/null 2>&1 </dev/null &
`;

const PROGRAMS: Readonly<Record<PodService, Program>> = {
  ssh: { port: 22, script: SSHD },
  jupyter: { port: 8888, script: JUPYTER },
};

export class PodServices {
  readonly #options: PodServicesOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PodServicesOptions) {
    this.#options = options;
  }

  /** The container runs: starts what it wants and does not have. */
  ensure(services: readonly PodService[]): void {
    this.stop();
    if (services.length === 0 || this.#options.runtime.kind === "process") return;
    this.#lookLater(services, 1);
  }

  /** The container ends. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #lookLater(services: readonly PodService[], look: number): void {
    const delayMs = this.#options.graceMs * 2 ** (look - 1);
    this.#timer = setTimeout(() => void this.#startMissing(services, look), delayMs);
  }

  async #startMissing(services: readonly PodService[], look: number): Promise<void> {
    const timer = this.#timer;
    const missing = await this.#stillMissing(services, look).catch((error: unknown) => {
      this.#warn(this.#owner, errorMessage(error));
      return services;
    });
    const isCurrent = timer === this.#timer; // else another container runs by now
    if (isCurrent && missing.length > 0 && look < MAX_LOOKS) this.#lookLater(missing, look + 1);
  }

  /** Starts those that do not listen; answers those that could not be started, or of which nothing is known now. */
  async #stillMissing(services: readonly PodService[], look: number): Promise<readonly PodService[]> {
    const listening = await this.#options.runtime.listening(this.#options.podId);
    if (listening === null) return services;
    const missing: PodService[] = [];
    for (const service of services) {
      const listens = listening.some(({ port }) => port === PROGRAMS[service].port);
      if (!listens && !(await this.#startOnce(service, look))) missing.push(service);
    }
    return missing;
  }

  async #startOnce(service: PodService, look: number): Promise<boolean> {
    const fields = this.#fieldsOf(service);
    try {
      const isThere = await this.#start(service);
      if (!isThere && look === 1) this.#options.log.info("pod_service_missing", fields);
      return isThere;
    } catch (error) {
      this.#warn(fields, errorMessage(error));
      return false;
    }
  }

  /** False when the container has no such program. */
  async #start(service: PodService): Promise<boolean> {
    const { podId, runtime, log } = this.#options;
    const { script } = PROGRAMS[service];
    const command = await runtime.exec(podId, {
      command: ["sh", "-c", script],
      terminal: null,
      environment: {},
      onOutput: () => {},
    });
    command.end();
    command.resume();
    const code = await command.exit;
    const fields = this.#fieldsOf(service);
    if (code === 0) log.info("pod_service_started", fields);
    else if (code !== MISSING) this.#warn(fields, `${service} ended with code ${code}`);
    return code !== MISSING;
  }

  #fieldsOf(service: PodService): LogFields {
    return { ...this.#owner, service, port: PROGRAMS[service].port };
  }

  get #owner(): LogFields {
    const { podId } = this.#options;
    return { workerId: podId, endpointId: podId };
  }

  #warn(fields: LogFields, reason: string): void {
    this.#options.log.warn("pod_service_not_started", { ...fields, reason });
  }
}
