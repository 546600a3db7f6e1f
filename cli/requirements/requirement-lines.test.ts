import { describe, expect, test } from "vitest";
import { localPathReason, requirementLines } from "./requirement-lines.ts";

const lines = (text: string, environment = {}) => requirementLines(text, environment);
const requirement = (line: number, text: string, hashes: readonly string[] = []) => ({
  kind: "requirement",
  line,
  text,
  hashes,
});

describe("lines of requirements.txt", () => {
  test("comments, blank lines and a byte order mark are ignored", () => {
    expect(lines("\uFEFF# all\n\nleft==1 # why\r\n  right[a,b] >= 2\n")).toEqual([
      requirement(3, "left==1"),
      requirement(4, "right[a,b] >= 2"),
    ]);
  });

  test("a line that ends with a backslash continues and has the number of its first line", () => {
    expect(lines("left>=1, \\\n  <2\nright \\\n# over\nlast")).toEqual([
      requirement(1, "left>=1,   <2"),
      requirement(3, "right"),
      requirement(5, "last"),
    ]);
  });

  test("the fragment of a URL is not a comment", () => {
    const text = "left @ https://host/left-1-py3-none-any.whl#sha256=ab";
    expect(lines(text)).toEqual([requirement(1, text)]);
  });

  test("hashes stay with their requirement", () => {
    expect(lines("left==1 \\\n --hash=sha256:aa \\\n --hash sha256:bb\n")).toEqual([
      requirement(1, "left==1", ["sha256:aa", "sha256:bb"]),
    ]);
  });

  test("a marker with quotes is left as it is", () => {
    const text = `left ~= 1.2 ; python_version < "3.12" and sys_platform == 'linux'`;
    expect(lines(text)).toEqual([requirement(1, text)]);
  });

  test.each([
    ["-r more.txt", { kind: "include", path: "more.txt" }],
    ["-rmore.txt", { kind: "include", path: "more.txt" }],
    ["--requirement=more.txt", { kind: "include", path: "more.txt" }],
    ['-c "with space.txt"', { kind: "constraints", path: "with space.txt" }],
    ["-i https://host/simple", { kind: "option", name: "--index-url", value: "https://host/simple" }],
    ["--extra-index-url https://h/s", { kind: "option", name: "--extra-index-url", value: "https://h/s" }],
    ["-f wheels", { kind: "option", name: "--find-links", value: "wheels" }],
    ["--no-index", { kind: "option", name: "--no-index", value: undefined }],
    ["--pre", { kind: "option", name: "--pre", value: undefined }],
  ])("%s is understood", (text, expected) => {
    expect(lines(text)).toEqual([{ line: 1, ...expected }]);
  });

  test.each(["https://edge.example", "http://127.0.0.1:8787"])(
    "the Python package of %s goes into every artifact anyway",
    (edge) => {
      expect(lines(`-r ${edge}/packages/requirements.txt`)).toEqual([]);
    },
  );

  test("options that are always in effect are ignored", () => {
    expect(lines("--only-binary=:all:\n--prefer-binary\n--require-hashes\n")).toEqual([]);
  });

  test("variables are replaced, and unset ones stay", () => {
    const text = "-i https://${USER_TOKEN}@host/${NOT_SET}";
    expect(lines(text, { USER_TOKEN: "t" })).toMatchObject([{ value: "https://t@host/${NOT_SET}" }]);
  });

  test.each([
    "-e .",
    "--editable=git+https://h/x#egg=x",
    "./left",
    "../left",
    ".",
    ".[dev]",
    "/opt/left",
    "C:\\left",
    "left/right",
    "left-1.0-py3-none-any.whl",
    "file:///opt/left.whl",
    "left @ file:///opt/left.whl",
    "https://host/left-1.0-py3-none-any.whl",
    "git+https://host/left",
    "--no-binary :all:",
    "-r https://host/more.txt",
    "-r",
    "left --config-settings a=b",
  ])("%s is refused, and the reason is given", (text) => {
    expect(lines(text)).toEqual([expect.objectContaining({ kind: "refused", line: 1 })]);
    expect(lines(text)).toMatchSnapshot();
  });

  test.each(["left", "left==1.0", "a.b-c_d>=1", "left @ https://host/a/b.whl", "left[x] ; os_name == 'a/b'"])(
    "%s is no path",
    (text) => {
      expect(localPathReason(text)).toBeUndefined();
    },
  );
});
