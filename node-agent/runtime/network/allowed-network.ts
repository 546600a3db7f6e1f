import ipaddr from "ipaddr.js";
import { METADATA_NETWORKS } from "./firewall-rules.ts";

/** Reads an IPv4 network such as 10.1.0.0/16, or one address. Throws with words for people. */
export function readAllowedNetwork(text: string): string {
  const [address = "", prefix = "32"] = text.split("/");
  const whole = `${address}/${prefix}`;
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) || !ipaddr.IPv4.isValidCIDR(whole)) {
    throw new Error(`"${text}" is no IPv4 network. Write it as 10.1.0.0/16 or 10.1.2.3.`);
  }
  const network = ipaddr.IPv4.networkAddressFromCIDR(whole);
  if (METADATA_NETWORKS.some((closed) => network.match(ipaddr.IPv4.parseCIDR(closed)))) {
    throw new Error(
      `${text} can not be opened: metadata services of clouds give host credentials away there.`,
    );
  }
  return `${network.toString()}/${Number(prefix)}`;
}
