/** Network interfaces of this machine. */
import { networkInterfaces } from "node:os";

/** The interface of this machine that has an IPv4 address; null where none has it. */
export function interfaceOf(address: string): string | null {
  const found = Object.entries(networkInterfaces()).find(([, addresses]) =>
    addresses?.some((one) => one.address === address),
  );
  return found?.[0] ?? null;
}
