/** Of an IPv6 address: a site has all addresses that begin so, and takes another one for each request if it likes. */
const NETWORK_GROUPS = 3;

/** The network of an address, by which requests of one place are counted: the address itself, or its first 48 bits. */
export function clientNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const zeros = tail === undefined ? [] : Array<string>(NETWORK_GROUPS).fill("0");
  return [...groups, ...zeros]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
