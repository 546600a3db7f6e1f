/** Which ports a server of ours may be told to listen on: those that its clients can call. */

export const PORT_MAX = 65_535;

/** Ports above 1023 that no browser calls, nor `fetch` anywhere (https://fetch.spec.whatwg.org/#port-blocking). */
const BLOCKED_ABOVE_1023 = [
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10_080,
];
/** And those below, which also take a privilege. */
const BLOCKED_BELOW_1024 = [
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995,
];
const BLOCKED = new Set([...BLOCKED_BELOW_1024, ...BLOCKED_ABOVE_1023]);

/** Whether browsers and `fetch` refuse to call this port. */
export function isBlockedPort(port: number): boolean {
  return BLOCKED.has(port);
}

/** What is wrong with a port that somebody has chosen for a server, and what to do; undefined when nothing is. */
export function portIssue(value: string): string | undefined {
  const port = Number(value);
  if (!Number.isInteger(port) || port < 1 || port > PORT_MAX)
    return `A port is a whole number from 1 to ${PORT_MAX}.`;
  if (!isBlockedPort(port)) return undefined;
  return `Browsers and fetch refuse to call port ${port}, which is known for another protocol. Choose another one, such as ${nextCallable(port)}.`;
}

function nextCallable(port: number): number {
  return isBlockedPort(port + 1) ? nextCallable(port + 1) : port + 1;
}
