/** `node:os` of a simulated host. */
import { constants as real } from "real:os";

export const constants = real;
export const cpus = (): unknown[] => [];
export const totalmem = (): number => 64e9;
export const freemem = (): number => 32e9;
export const hostname = (): string => "host";
export const endianness = (): string => "LE";
export const tmpdir = (): string => "/tmp";
export const homedir = (): string => "/root";
export const availableParallelism = (): number => 16;
