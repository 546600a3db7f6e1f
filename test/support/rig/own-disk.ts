/** A file system of its own, which can be filled without harm to the machine; it takes no space that is not used. */
import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const BLOCK_BYTES = 4_096;
const GIGABYTE = 1024 ** 3;

export class OwnDisk {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Mounts a new file system on a directory of a rig, with which it is unmounted. */
  static async mount(directory: string, gigabytes: number): Promise<OwnDisk> {
    await mkdir(directory, { recursive: true });
    const image = `${directory}.ext4`;
    await run("truncate", ["--size", String(gigabytes * GIGABYTE), image]);
    // No room is kept for root, who would not notice that the disk is full.
    await run("mkfs.ext4", ["-q", "-m", "0", "-b", String(BLOCK_BYTES), image]);
    await run("mount", ["-o", "loop", image, directory]);
    return new OwnDisk(directory);
  }

  /** Takes all space that is left. */
  async fill(): Promise<void> {
    let offset = 0;
    for (let length = GIGABYTE; length >= BLOCK_BYTES; length /= 2) {
      while (await this.#take(offset, length)) offset += length;
    }
  }

  async free(): Promise<void> {
    await rm(this.#filler, { force: true });
  }

  /** Reserves space without writing it; false when there is not as much. */
  async #take(offset: number, length: number): Promise<boolean> {
    const range = ["--offset", String(offset), "--length", String(length)];
    return run("fallocate", [...range, this.#filler]).then(
      () => true,
      () => false,
    );
  }

  get #filler(): string {
    return join(this.#directory, "filler");
  }
}
