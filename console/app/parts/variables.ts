/** Variables of an environment as lines `KEY=value`, in which the first = ends the key. */
type Variable = { readonly key?: string | null; readonly value?: string | null };

export function readVariables(text: string): readonly { readonly key: string; readonly value: string }[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [key = "", ...value] = line.split("=");
      return { key: key.trim(), value: value.join("=") };
    });
}

export function writeVariables(variables: readonly (Variable | null)[] | null | undefined): string {
  return (variables ?? [])
    .flatMap((variable) => (variable ? [`${variable.key ?? ""}=${variable.value ?? ""}`] : []))
    .join("\n");
}
