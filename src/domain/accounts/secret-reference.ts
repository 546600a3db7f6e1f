/**
 * References to secrets in values of environment variables: `{{ SECRET_name }}` or `{{ RUNPOD_SECRET_name }}`,
 * blanks inside the braces optional, any number in one value. All other braces are text.
 */

/** Names that a reference can hold. */
export const SECRET_NAME = /^[A-Za-z0-9_.-]+$/;

/** Linear in the length of the text: the name is trimmed afterwards. */
const REFERENCE = /\{\{\s*(?:RUNPOD_)?SECRET_([^{}]*)\}\}/g;

/** Names in the order in which a text refers to them; one that no secret can have is among them. */
export function referencedSecrets(text: string): readonly string[] {
  return [...text.matchAll(REFERENCE)].map(([, name = ""]) => name.trim());
}

/** Replaces references by values. A value is plain text, even where it looks like a reference. */
export function fillReferences(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(REFERENCE, (_reference, name: string) => valueOf(name.trim()));
}

/** How long `fillReferences` makes a text, without making it: a short text may refer to a long value many times. */
export function filledLength(text: string, lengthOf: (name: string) => number): number {
  const references = [...text.matchAll(REFERENCE)];
  return references.reduce(
    (length, [reference, name = ""]) => length - reference.length + lengthOf(name.trim()),
    text.length,
  );
}

/** What opens an image registry. */
export type RegistryLogin = { readonly username: string; readonly password: string };
