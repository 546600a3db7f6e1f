/** Ports as they are written on the command line. */
import { InvalidArgumentError } from "commander";
import { PORT_MAX } from "../../src/net/port.ts";

export type ForwardedPort = {
  /** Of this computer; 0 for a free one. */
  readonly local: number;
  /** Of the container. */
  readonly remote: number;
};

const DIGITS = /^[0-9]{1,5}$/;

/** Reads `8080`, or `9000:8080` for port 8080 of the container at port 9000 here. Throws InvalidArgumentError. */
export function readForwardedPort(text: string): ForwardedPort {
  const [first = "", second = first, ...rest] = text.split(":");
  if (rest.length > 0) throw new InvalidArgumentError("It must be [local:]remote.");
  return { local: first === "0" && text !== "0" ? 0 : readTcpPort(first), remote: readTcpPort(second) };
}

/** Throws InvalidArgumentError. */
export function readTcpPort(text: string): number {
  const port = DIGITS.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= PORT_MAX) return port;
  throw new InvalidArgumentError(`A port is a whole number from 1 to ${PORT_MAX}.`);
}
