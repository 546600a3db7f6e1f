/** Which packages stay out of an artifact, since the image has them or the person says so. */
import { Failure } from "../failure.ts";

/** Of what our images hold: gigabytes, for which nobody waits in order to try a function. */
export const LARGE_PACKAGES = ["torch", "torchvision", "torchaudio", "triton"];
const IMAGE_PACKAGES = [...LARGE_PACKAGES, "numpy"];

/** Bundled with every artifact, in the version that belongs to it. */
export const SDK_PACKAGE = "edgerun";

export type Exclusions = {
  /** All names that are left out, normalised, sorted. */
  readonly keys: readonly string[];
  /** Given by `--exclude`, normalised. */
  readonly asked: readonly string[];
  /** What the image says that it holds. */
  readonly inImage: ReadonlySet<string>;
};

/** FLASH_IMAGE_PACKAGES is what an image of one's own holds, with commas between. */
export function exclusionsOf(
  asked: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Exclusions {
  const declared = environment["FLASH_IMAGE_PACKAGES"]?.split(",") ?? IMAGE_PACKAGES;
  const inImage = new Set(
    declared
      .map((name) => name.trim())
      .filter(Boolean)
      .map(normalizedName),
  );
  const askedKeys = asked.map((name) => {
    if (isPackageName(name)) return normalizedName(name);
    throw new Failure(`--exclude takes names of packages, and ${JSON.stringify(name)} is none.`);
  });
  return { keys: [...new Set([...inImage, ...askedKeys])].sort(), asked: askedKeys, inImage };
}

/** What a person should know of what was left out; `excluded` are the names that something needs. */
export function exclusionWarnings(
  { asked, inImage }: Exclusions,
  excluded: readonly string[],
): readonly string[] {
  const unknown = asked.filter((key) => !excluded.includes(key));
  const lacking = excluded.filter((key) => !inImage.has(key));
  return [
    ...unknown.map((key) => `--exclude ${key}: nothing needs a package of that name.`),
    ...lacking.map(
      (key) =>
        `${key} IS LEFT OUT, BUT THE IMAGE DOES NOT SAY THAT IT HAS IT. Importing it on a worker will fail, ` +
        "unless the image of your own holds it; then list it in FLASH_IMAGE_PACKAGES.",
    ),
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
