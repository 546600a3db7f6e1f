/**
 * Which registries this host asks for images. The name is of a template, and Docker asks from within the owner's
 * network.
 *
 * G1  A registry on a network that is not the Internet is used only where the owner has allowed it, whether the name
 *     of the image holds its address or resolves to it.
 *
 * Not covered, since Docker handles them: a name that resolves to another address a moment later, and redirects
 * and token services that a public registry names. Those get a request, but no user sees the answer.
 */
import { lookup } from "node:dns/promises";
import { within } from "../../../src/std/waiting.ts";
import ipaddr from "ipaddr.js";
import { isPublicAddress, isPublicHost } from "../../../src/net/public-host.ts";
import { hostOfRegistry } from "./image-name.ts";

export type RegistryPolicy = {
  /** Hosts, or hosts with their port, such as 10.1.2.3:5000; `*` is all. */
  readonly allowedRegistries: readonly string[];
  /** IPv4 networks that workers may reach, which holds for registries too. */
  readonly allowedNetworks: readonly string[];
};

/** All addresses of a name. */
type Resolve = (name: string) => Promise<readonly string[]>;

const RESOLVE_LIMIT_MS = 5_000;

/** Why an image must not be pulled; null when it may. */
export async function registryDenial(
  imageName: string,
  policy: RegistryPolicy,
  resolve: Resolve = addressesOf,
): Promise<string | null> {
  const registry = hostOfRegistry(imageName);
  if (registry === null) return null;
  const { hostname } = registry;
  const isAllowed = [registry.written, hostname, "*"].some((name) => policy.allowedRegistries.includes(name));
  if (isAllowed) return null;
  const addresses = isIp(hostname) ? [hostname] : isPublicHost(hostname) ? await resolve(hostname) : [];
  const isClosed =
    addresses.length === 0 ? !isPublicHost(hostname) : !addresses.every((address) => isOpen(address, policy));
  if (!isClosed) return null;
  return (
    `Image ${imageName} is not pulled: its registry ${registry.written} is on this host's own network, not on the Internet. ` +
    `The owner of the host can allow it: edgerun-agent run --allow-registry ${registry.written}`
  );
}

function isOpen(address: string, { allowedNetworks }: RegistryPolicy): boolean {
  if (isPublicAddress(address)) return true;
  const parsed = ipaddr.process(address);
  return allowedNetworks.some(
    (network) => parsed instanceof ipaddr.IPv4 && parsed.match(ipaddr.IPv4.parseCIDR(network)),
  );
}

function isIp(hostname: string): boolean {
  return ipaddr.isValid(hostname);
}

/** Empty when the name is not found in time: Docker, which may have a proxy, then resolves it. */
async function addressesOf(name: string): Promise<readonly string[]> {
  const found = lookup(name, { all: true }).then((entries) => entries.map(({ address }) => address));
  return await within(RESOLVE_LIMIT_MS, found, []).catch(() => []);
}
