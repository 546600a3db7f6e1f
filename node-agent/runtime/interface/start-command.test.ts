import { describe, test } from "vitest";
import { splitCommandLine } from "./start-command.ts";

describe("splitCommandLine", () => {
  test("keeps quoted words together and takes the quotes away", ({ expect }) => {
    expect(splitCommandLine(`python -u 'my handler.py' --model="a \\"b\\" c" d\\ e`)).toEqual([
      "python",
      "-u",
      "my handler.py",
      '--model=a "b" c',
      "d e",
    ]);
  });

  test("leaves what only a shell would expand as it is", ({ expect }) => {
    expect(splitCommandLine("sh -c 'echo $HOME && exit 3' *.py # no comment")).toEqual([
      "sh",
      "-c",
      "echo $HOME && exit 3",
      "*.py",
      "#",
      "no",
      "comment",
    ]);
  });

  test("gives no words for empty arguments", ({ expect }) => {
    expect(splitCommandLine("  \n ")).toEqual([]);
  });

  test("says what is wrong with an open quote", ({ expect }) => {
    expect(() => splitCommandLine("echo 'open")).toThrowErrorMatchingInlineSnapshot(
      `[Error: The start arguments can not be split into words: echo 'open. Check that every quote is closed.]`,
    );
  });
});
