import { Failure } from "../core/failure.ts";

/** Of these there are builds of workerd. */
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];

type Platform = {
  /** As Node calls it, such as linux-x64. */
  readonly name: string;
  /** Linux with another C library than that of GNU. */
  readonly isMusl: boolean;
};

/** Throws a Failure where the Workers runtime does not run. */
export function requireRuntimePlatform(platform: Platform = ownPlatform()): void {
  if (PLATFORMS.includes(platform.name) && !platform.isMusl) return;
  const name = platform.isMusl ? `${platform.name} with musl, such as Alpine` : platform.name;
  throw new Failure(`--local does not run on this computer: there is no Workers runtime for ${name}.`, [
    `There is one for ${PLATFORMS.join(", ")}.`,
    "Leave out --local, and work against an Edgerun elsewhere: `flash login --url https://your-edge.example`.",
  ]);
}

function ownPlatform(): Platform {
  return { name: `${process.platform}-${process.arch}`, isMusl: process.platform === "linux" && !hasGlibc() };
}

function hasGlibc(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime !== undefined;
}
