/** Which packages are left out of an artifact: those of the image, and those of `--exclude`. */
import { Failure } from "../../src/std/failure.ts";

/** Packages of the runtime images that take gigabytes; live workers do not install them either. */
export const LARGE_PACKAGES = ["torch", "torchvision", "torchaudio", "triton"];
const IMAGE_PACKAGES = [...LARGE_PACKAGES, "numpy"];

/** Bundled with every artifact in the matching version. */
export const SDK_PACKAGE = "edgerun";

export type Exclusions = {
  /** All names that are left out, normalised, sorted. */
  readonly keys: readonly string[];
  /** From `--exclude`, normalised. */
  readonly requested: readonly string[];
  /** Packages of the image. */
  readonly inImage: ReadonlySet<string>;
  /** FLASH_IMAGE_PACKAGES is not set, so the usual packages of runtime images are assumed. */
  readonly isAssumed: boolean;
};

/** FLASH_IMAGE_PACKAGES is a comma-separated list of the packages of a custom image. */
export function exclusionsOf(
  requested: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Exclusions {
  const declared = environment["FLASH_IMAGE_PACKAGES"]?.split(",");
  const inImage = new Set(
    (declared ?? IMAGE_PACKAGES)
      .map((name) => name.trim())
      .filter(Boolean)
      .map(normalizedName),
  );
  const requestedKeys = requested.map((name) => {
    if (isPackageName(name)) return normalizedName(name);
    throw new Failure(`--exclude takes names of packages, not ${JSON.stringify(name)}.`);
  });
  return {
    keys: [...new Set([...inImage, ...requestedKeys])].sort(),
    requested: requestedKeys,
    inImage,
    isAssumed: declared === undefined,
  };
}

/** Lines that name what was left out, by reason. */
export function exclusionLines(
  { requested, inImage }: Exclusions,
  excluded: readonly string[],
): readonly string[] {
  const ofImage = excluded.filter((key) => inImage.has(key));
  const byRequest = excluded.filter((key) => !inImage.has(key) && requested.includes(key));
  return [
    ...(ofImage.length === 0 ? [] : [`Excluded: ${ofImage.join(", ")} (left to the workers' image)`]),
    ...(byRequest.length === 0 ? [] : [`Excluded: ${byRequest.join(", ")} (--exclude)`]),
  ];
}

/** Warnings about exclusions; `excluded` are the names that something needs. */
export function exclusionWarnings(
  { requested, inImage, isAssumed }: Exclusions,
  excluded: readonly string[],
): readonly string[] {
  const unknown = requested.filter((key) => !excluded.includes(key));
  const lacking = excluded.filter((key) => !inImage.has(key));
  const large = isAssumed ? excluded.filter((key) => LARGE_PACKAGES.includes(key)) : [];
  return [
    ...unknown.map((key) => `--exclude ${key}: no such package is needed.`),
    ...lacking.map(
      (key) =>
        `${key} IS EXCLUDED, BUT MAY BE MISSING IN THE IMAGE. Importing it on a worker will fail ` +
        "unless your own image has it; then list it in FLASH_IMAGE_PACKAGES.",
    ),
    ...(large.length === 0
      ? []
      : [
          `${large.join(", ")} must be in the workers' image. Images of \`npm run images -- flash\`, and workers that are ` +
            "plain processes, do not have it, and cannot import it. docker/flash/Dockerfile builds images that have it.",
        ]),
  ];
}

/** A bare name of PEP 508. */
export function isPackageName(text: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text);
}

/** Normalised as in PEP 503: case and kind of dash play no part. */
export function normalizedName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}
