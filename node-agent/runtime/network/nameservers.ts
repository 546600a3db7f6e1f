import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import * as z from "zod";

/** Docker asks these from inside a container's network; where the first names the host itself, it takes the second. */
const RESOLVER_FILES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
const DAEMON_FILE = "/etc/docker/daemon.json";

const daemonSchema = z.object({ dns: z.array(z.string()).default([]) });

/** The IPv4 name servers that Docker gives to containers of this host, beside those on loopback. */
export async function dockerNameservers(): Promise<readonly string[]> {
  const texts = await Promise.all(RESOLVER_FILES.map((path) => textOf(path)));
  const named = [...texts.flatMap(nameserversIn), ...daemonServers(await textOf(DAEMON_FILE))];
  const usable = named.filter((address) => isIPv4(address) && !address.startsWith("127."));
  return [...new Set(usable)].toSorted();
}

export function nameserversIn(resolverFile: string): readonly string[] {
  return [...resolverFile.matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map(([, address = ""]) => address);
}

function daemonServers(text: string): readonly string[] {
  try {
    return daemonSchema.parse(JSON.parse(text)).dns;
  } catch {
    return []; // Docker reads that file, and complains of it, itself.
  }
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
