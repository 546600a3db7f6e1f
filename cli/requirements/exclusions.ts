/** Which packages stay out of an artifact, since the image has them or the person says so. */
import { Failure } from "../core/failure.ts";

/** Of what our images hold: gigabytes, for which nobody waits in order to try a function. */
export const LARGE_PACKAGES = ["torch", "torchvision", "torchaudio", "triton"];
const IMAGE_PACKAGES = [...LARGE_PACKAGES, "numpy"];

/** Bundled with every artifact, in the version that belongs to it. */
export const SDK_PACKAGE = "edgerun";

export type Exclusions = {
  /** All names that are left out, normalised, sorted. */
  readonly keys: readonly string[];
  /** Given by `--exclude`, normalised. */
  readonly requested: readonly string[];
  /** What the image holds. */
  readonly inImage: ReadonlySet<string>;
  /** Nobody said what the image holds, so it is taken to hold what runtime images mostly do. */
  readonly isAssumed: boolean;
};

/** FLASH_IMAGE_PACKAGES is what an image of one's own holds, with commas between. */
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
    throw new Failure(`--exclude takes names of packages, and ${JSON.stringify(name)} is none.`);
  });
  return {
    keys: [...new Set([...inImage, ...requestedKeys])].sort(),
    requested: requestedKeys,
    inImage,
    isAssumed: declared === undefined,
  };
}

/** What was left out, each with the reason. */
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

/** What a person should know of what was left out; `excluded` are the names that something needs. */
export function exclusionWarnings(
  { requested, inImage, isAssumed }: Exclusions,
  excluded: readonly string[],
): readonly string[] {
  const unknown = requested.filter((key) => !excluded.includes(key));
  const lacking = excluded.filter((key) => !inImage.has(key));
  const large = isAssumed ? excluded.filter((key) => LARGE_PACKAGES.includes(key)) : [];
  return [
    ...unknown.map((key) => `--exclude ${key}: nothing needs a package of that name.`),
    ...lacking.map(
      (key) =>
        `${key} IS LEFT OUT, BUT THE IMAGE DOES NOT SAY THAT IT HAS IT. Importing it on a worker will fail, ` +
        "unless the image of your own holds it; then list it in FLASH_IMAGE_PACKAGES.",
    ),
    ...(large.length === 0
      ? []
      : [
          `${large.join(", ")} must be in the workers' image. Images of \`npm run images -- flash\`, and workers that are ` +
            "plain processes, are without: there it cannot be imported. docker/flash/Dockerfile makes images with it.",
        ]),
  ];
}

/** As PEP 508 has it: a name alone. */
export function isPackageName(text: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text);
}

/** As PEP 503 has it: case and the kind of dash play no part. */
export function normalizedName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}
