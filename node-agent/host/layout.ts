/** What install.sh puts where; changed there, it is changed here. */
import { dirname, join } from "node:path";

export const COMMAND_PATH = "/usr/local/bin/edgerun-agent";
export const SETTINGS_DIRECTORY = "/etc/edgerun";
export const UNIT = "edgerun-agent.service";
export const UNIT_PATH = `/etc/systemd/system/${UNIT}`;
export const INSTALL_DIRECTORY = "/opt/edgerun";

/** Files of the agent that runs this code, which may have been installed elsewhere. */
export function agentFiles(agentPath: string) {
  return {
    current: agentPath,
    next: join(dirname(agentPath), "edgerun-agent.next.mjs"),
    previous: join(dirname(agentPath), "edgerun-agent.previous.mjs"),
  };
}
