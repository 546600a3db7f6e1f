/** Example arguments of a function, made from its signature. */
import type { ManifestParameter } from "../../src/contract/flash/flash-manifest.ts";

/** Arguments by name: the required ones, or the first optional one where none is required. */
export function exampleArguments(parameters: readonly ManifestParameter[]): Record<string, unknown> {
  const named = parameters.filter(({ kind }) => kind === "positional" || kind === "keyword");
  const required = named.filter(({ isRequired }) => isRequired);
  const selected = required.length > 0 ? required : named.slice(0, 1);
  return Object.fromEntries(selected.map((parameter) => [parameter.name, exampleValue(parameter)]));
}

function exampleValue({ name, annotation, default: value }: ManifestParameter): unknown {
  if (value !== undefined && value !== null) return value;
  const type = (annotation ?? "").replaceAll(/["'\s]/g, "").replace(/^(?:typing\.)?Optional\[(.*)\]$/, "$1");
  const [first = ""] = type.split("|");
  const [kind = ""] = first
    .toLowerCase()
    .replace(/^typing\./, "")
    .split("[");
  switch (kind) {
    case "literal":
      return (
        /\[(?:"([^"]*)"|'([^']*)')/
          .exec(annotation ?? "")
          ?.slice(1)
          .find(Boolean) ?? "hello"
      );
    case "int":
      return 1;
    case "float":
      return 1.5;
    case "bool":
      return true;
    case "str":
      return "hello";
    case "list":
    case "sequence":
    case "tuple":
    case "set":
      return exampleList(first);
    case "dict":
    case "mapping":
      return { message: "hello" };
    default:
      // Without an annotation, an object is what most functions with one argument take.
      return /data|payload|body|params/.test(name) ? { message: "hello" } : "hello";
  }
}

function exampleList(annotation: string): readonly unknown[] {
  if (/\[(?:int)/i.test(annotation)) return [1, 2, 3];
  if (/\[(?:float)/i.test(annotation)) return [1, 2.5, 3];
  return /\[(?:dict)/i.test(annotation) ? [{}] : ["hello"];
}
