/** `node:fs` and `node:fs/promises` of a simulated host: directories that are empty, and a disk with room. */

const missing = async (): Promise<never> => {
  throw Object.assign(new Error("ENOENT: there is no such file"), { code: "ENOENT" });
};

const done = async (): Promise<void> => {};

export const readFile = missing;
export const access = missing;
export const readdir = async (): Promise<string[]> => [];
export const statfs = async () => ({ bsize: 4_096, blocks: 1e8, bavail: 5e7, bfree: 5e7 });
export const mkdir = done;
export const chmod = done;
export const rename = done;
export const rm = done;
export const writeFile = done;
export const realpath = async (path: string): Promise<string> => path;
export const readlink = missing;
export const stat = missing;

export const readFileSync = (): never => {
  throw Object.assign(new Error("ENOENT: there is no such file"), { code: "ENOENT" });
};
export const readdirSync = (): string[] => [];
export const openSync = (): number => 0;
export const closeSync = (): void => {};
export const chmodSync = (): void => {};
export const existsSync = (): boolean => false;
