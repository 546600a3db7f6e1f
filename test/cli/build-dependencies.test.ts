import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pathWithUv } from "../support/uv.ts";
import { indexEnvironment, type Wheel, wheelHouse } from "../support/wheel-house.ts";
import { build, built, HELLO, pathsIn, projectOf, textIn } from "./build-project.ts";

const PATH_WITH_UV = await pathWithUv();
const TOOLS = [
  { tool: "pip", path: {} },
  { tool: "uv", path: { PATH: PATH_WITH_UV } },
];

const app = (dependencies: readonly string[]): string =>
  HELLO.replace('cpu="cpu3c-1-2"', `cpu="cpu3c-1-2", dependencies=${JSON.stringify(dependencies)}`);

const installed = (archive: string): string[] =>
  pathsIn(archive)
    .filter((path) => path.endsWith(".dist-info/METADATA"))
    .map((path) => path.replace(".dist-info/METADATA", ""));

const OWN_MINOR = asked("python3")?.minor ?? "";
const OTHER_MINOR = OWN_MINOR === "3.12" ? "3.13" : "3.12";

const tagOf = (minor: string, platform: string): string => {
  const python = `cp${minor.replace(".", "")}`;
  return `${python}-${python}-${platform}`;
};

/** What they need depends on the Python, and they have wheels for older Linuxes alone. */
const MARKED: readonly Wheel[] = [
  {
    name: "native",
    tag: tagOf(OTHER_MINOR, "manylinux_2_24_x86_64"),
    requires: [
      `for-target; python_version == '${OTHER_MINOR}'`,
      `for-host; python_version == '${OWN_MINOR}'`,
    ],
  },
  { name: "older", tag: tagOf(OTHER_MINOR, "manylinux_2_12_x86_64") },
  ...["for-target", "for-host", "listed-for-target"].map((name) => ({ name })),
];

/** A PATH with nothing but these Pythons; the first is python3 too. */
function lonePath(...minors: readonly string[]): string {
  const directory = projectOf({});
  for (const [at, minor] of minors.entries()) {
    const python = pythonOf(minor);
    if (python === undefined) throw new Error(`these tests need a Python ${minor}`);
    // A link would hide the standard library of a Python that looks for it beside itself.
    const names = at === 0 ? ["python3", `python${minor}`] : [`python${minor}`];
    for (const name of names) {
      writeFileSync(join(directory, name), `#!/bin/sh\nexec ${python} "$@"\n`, { mode: 0o755 });
    }
  }
  return directory;
}

/** Its own path, which needs no PATH. */
function pythonOf(minor: string): string | undefined {
  const known = [`python${minor}`, "python3", ...pyenvPythons(minor)].map(asked);
  return known.find((python) => python?.minor === minor)?.executable;
}

function asked(python: string): { readonly executable: string; readonly minor: string } | undefined {
  const script = "import sys; print(sys.executable); print('%d.%d' % sys.version_info[:2])";
  try {
    const said = execFileSync(python, ["-c", script], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [executable = "", minor = ""] = said.split("\n");
    return { executable, minor };
  } catch {
    return undefined;
  }
}

function pyenvPythons(minor: string): string[] {
  const root = process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv");
  const versions = existsSync(join(root, "versions")) ? readdirSync(join(root, "versions")) : [];
  return versions
    .filter((name) => name.startsWith(`${minor}.`))
    .map((name) => join(root, "versions", name, "bin/python"));
}

test("requirements and endpoints' dependencies are bundled with what they need, the same bytes by either tool", async () => {
  const environment = indexEnvironment(
    wheelHouse(
      { name: "declared", version: "1.2" },
      { name: "listed", requires: ["needed; python_version > '3'"], scripts: ["listed = listed:main"] },
      { name: "needed", version: "3.0" },
      { name: "included" },
    ),
  );
  const builtBy = async (path: object) => {
    const project = projectOf({
      "app.py": app(["declared>=1"]),
      "requirements.txt": "edgerun\nlisted==1.0  # why\n-r requirements/more.txt\n",
      "requirements/more.txt": "-r ../requirements/again.txt\n",
      "requirements/again.txt": "listed == 1.0\nincluded\n",
      // Not in the way of the modules that the tools need.
      "logging.py": "1 / 0\n",
      "packaging.py": "1 / 0\n",
    });
    return built(project, { environment: { ...environment, ...path } });
  };
  const byPip = await builtBy({});
  const byUv = await builtBy({ PATH: PATH_WITH_UV });
  const { artifact, packages, manifest } = byUv;
  expect(artifact.sha256).toBe(byPip.artifact.sha256);
  expect(installed(artifact.path)).toEqual(["declared-1.2", "included-1.0", "listed-1.0", "needed-3.0"]);
  expect(packages).toEqual(["listed==1.0", "listed == 1.0", "included", "declared>=1"]);
  expect(manifest.excluded_packages).toEqual([]);
  for (const { shown } of [byPip, byUv]) expect(shown).toMatch(/^✓ .*\b4\b.* \([\d.]+ s\)/m);

  const paths = pathsIn(artifact.path);
  expect(paths.filter((name) => /^bin\/|INSTALLER|REQUESTED|direct_url/.test(name))).toEqual([]);
  const record = textIn(artifact.path, "listed-1.0.dist-info/RECORD").trim().split("\n");
  expect(record.map((line) => line.split(",")[0] ?? "").filter((file) => !paths.includes(file))).toEqual([]);
  expect(record.length).toBe(5);
});

describe.each(TOOLS)("with $tool", ({ path }) => {
  const environmentOf = (...wheels: readonly Wheel[]) => ({
    ...indexEnvironment(wheelHouse(...wheels)),
    ...path,
  });

  test("torch and its like are left out, with all that only they need", async () => {
    const project = projectOf({
      "app.py": app([
        "Torch ~= 2.0",
        "accelerate",
        "torchvision @ https://host.invalid/torchvision-1-py3-none-any.whl",
      ]),
      "requirements.txt": "NumPy>=1 ; python_version >= '3'\nextra_one\n",
    });
    const environment = environmentOf(
      { name: "accelerate", requires: ["torch>=2", "plain"] },
      { name: "plain", requires: ["numpy"] },
      {
        name: "torch",
        version: "2.1",
        requires: ["nvidia-blas", "plain", "triton"],
        files: { "torch/__init__.py": "", "torchgen/x.py": "" },
      },
      { name: "numpy", version: "2.0", files: { "numpy/__init__.py": "", "numpy.libs/libblas.so": "" } },
      { name: "triton" },
      { name: "nvidia-blas", files: { "nvidia/blas/x.so": "" } },
      { name: "extra-one", requires: ["extra-two"] },
      { name: "extra-two" },
    );
    const { artifact, excluded, manifest, warnings, shown } = await built(project, {
      environment,
      exclude: ["Extra.One", "unheard-of"],
    });
    expect(installed(artifact.path)).toEqual(["accelerate-1.0", "plain-1.0"]);
    expect(pathsIn(artifact.path).filter((name) => /torch|numpy|nvidia|triton|extra/.test(name))).toEqual([]);
    expect(excluded).toEqual(["extra-one", "numpy", "torch", "torchvision"]);
    expect(manifest.excluded_packages).toEqual(excluded);
    expect(shown).toMatch(/\bnumpy, torch, torchvision\b/);
    expect(shown).toContain("extra-one (--exclude)");
    expect(warnings).toEqual([
      expect.stringContaining("--exclude unheard-of"),
      expect.stringMatching(/^extra-one\b.*FLASH_IMAGE_PACKAGES/),
      expect.stringMatching(/^torch, torchvision\b/),
    ]);
  });

  test("markers are judged for the worker's Python, and wheels for its Linux are taken", async () => {
    const environment = environmentOf(...MARKED);
    const project = projectOf({
      "app.py": app(["native", "older"]),
      "requirements.txt": `listed-for-target; python_version == "${OTHER_MINOR}"\nlisted-for-host; python_version == "${OWN_MINOR}"\n`,
    });
    const { artifact, warnings } = await built(project, {
      environment: "PATH" in path ? environment : { ...environment, PATH: lonePath(OWN_MINOR, OTHER_MINOR) },
      pythonVersion: OTHER_MINOR,
    });
    expect(installed(artifact.path)).toEqual([
      "for_target-1.0",
      "listed_for_target-1.0",
      "native-1.0",
      "older-1.0",
    ]);
    expect(warnings).toEqual([]);
  });

  test("a package that cannot be installed is named, with the tool's last lines and advice", async () => {
    const project = projectOf({ "app.py": app(["windows-only"]) });
    const environment = environmentOf({ name: "windows-only", tag: "py3-none-win_amd64" });
    const { failure, shown } = await build(project, { environment });
    expect(failure?.message).toMatch(/^(pip|uv)\b/);
    expect(failure?.advice.at(-1)).toMatch(/\bwindows-only\b.*Linux x86_64/);
    expect(failure?.advice.length).toBeGreaterThan(1);
    expect(shown).toMatch(/^✗ /m);
  });
});

// What does not depend on the tool is tried with uv, which is the quicker one.

describe("with either tool", () => {
  const environmentOf = (...wheels: readonly Wheel[]) => ({
    ...indexEnvironment(wheelHouse(...wheels)),
    PATH: PATH_WITH_UV,
  });

  test("the declared packages of an image decide what is left out", async () => {
    const project = projectOf({ "app.py": app(["torch", "torchvision"]) });
    const environment = {
      ...environmentOf({ name: "torch" }, { name: "torchvision", requires: ["torch"] }),
      FLASH_CPU_IMAGE: "own/image",
      FLASH_IMAGE_PACKAGES: "torch",
    };
    const { artifact, excluded, warnings } = await built(project, { environment });
    expect(installed(artifact.path)).toEqual(["torchvision-1.0"]);
    expect({ excluded, warnings }).toEqual({ excluded: ["torch"], warnings: [] });
  });

  test("--no-deps installs only what is listed", async () => {
    const project = projectOf({ "app.py": app(["left"]) });
    const environment = environmentOf({ name: "left", requires: ["right"] }, { name: "right" });
    const { artifact } = await built(project, { environment, deps: false });
    expect(installed(artifact.path)).toEqual(["left-1.0"]);
  });

  test("a module of the project replaces a package of its name", async () => {
    const project = projectOf({ "app.py": app(["left"]), "left/__init__.py": "OWN = True\n" });
    const environment = environmentOf({
      name: "left",
      files: { "left/__init__.py": "", "left/more.py": "" },
    });
    const { artifact, warnings } = await built(project, { environment });
    expect(textIn(artifact.path, "left/__init__.py")).toBe("OWN = True\n");
    expect(pathsIn(artifact.path)).not.toContain("left/more.py");
    expect(warnings).toEqual([expect.stringMatching(/\bleft\b/)]);
  });

  test("options of requirements.txt hold, and a path in it starts from its file", async () => {
    const house = wheelHouse({ name: "left" });
    const project = projectOf({
      "app.py": HELLO,
      "requirements/base.txt": "--find-links ../wheels\n--no-index\n-c limits.txt\nleft\n",
      "requirements/limits.txt": "left<2\n",
      "requirements.txt": "-r requirements/base.txt\n",
      ".gitignore": "wheels\n",
    });
    symlinkSync(house, join(project, "wheels"));
    const { PIP_FIND_LINKS: _, UV_FIND_LINKS: __, ...environment } = indexEnvironment(house);
    const { artifact } = await built(project, {
      environment: { PIP_FIND_LINKS: undefined, ...environment, PATH: PATH_WITH_UV },
    });
    expect(installed(artifact.path)).toEqual(["left-1.0"]);
  });
});

test("without the worker's Python pip decides by another one, with a loud warning", async () => {
  const project = projectOf({ "app.py": app(["native", "older"]) });
  const environment = { ...indexEnvironment(wheelHouse(...MARKED)), PATH: lonePath(OWN_MINOR) };
  const { artifact, warnings } = await built(project, { environment, pythonVersion: OTHER_MINOR });
  expect(installed(artifact.path)).toEqual(["native-1.0", "older-1.0"]);
  expect(warnings).toEqual([
    expect.stringMatching(new RegExp(`PYTHON ${OTHER_MINOR}`, "i")),
    expect.stringMatching(/\bfor-target\b/),
  ]);
});

test("requirements that contradict each other are named with both places", async () => {
  const project = projectOf({ "app.py": app(["left>=2"]), "requirements.txt": "\nLeft == 1.4\n" });
  const { failure } = await build(project);
  expect(failure?.message).toBe("Two requirements contradict each other.");
  expect(failure?.advice).toEqual([
    "requirements.txt:2: Left == 1.4",
    expect.stringMatching(/^app\.py:3 \(endpoint hello\): left>=2$/),
  ]);
});

test("every line that cannot be installed is named with its place", async () => {
  const project = projectOf({
    "app.py": app(["../lib"]),
    "requirements.txt": "-e .\n-r more.txt\n-r lost.txt\nleft === = 1\n",
    "more.txt": "./left\n-r requirements.txt\n",
  });
  const { failure } = await build(project);
  expect(failure?.advice).toEqual([
    expect.stringMatching(/^requirements\.txt:1: "-e \."/),
    expect.stringMatching(/^more\.txt:1: "\.\/left"/),
    expect.stringMatching(/^more\.txt:2: requirements\.txt\b/),
    expect.stringMatching(/^requirements\.txt:3: .*\blost\.txt/),
    expect.stringMatching(/^app\.py:3 \(endpoint hello\): "\.\.\/lib"/),
  ]);
});

test("an invalid requirement is named with its place", async () => {
  const project = projectOf({ "app.py": HELLO, "requirements.txt": "fine\nleft = 1\n" });
  const { failure } = await build(project);
  expect(failure?.message).toBe("Some requirements cannot be read.");
  expect(failure?.advice[0]).toMatch(/^requirements\.txt:2: left = 1: /);
});

test("an interpreter without pip runs the bundled one, and none is installed", async () => {
  const project = projectOf({ "app.py": app(["left>=1"]) });
  const venv = join(project, ".venv");
  execFileSync("python3", ["-m", "venv", "--without-pip", venv]);
  const environment = indexEnvironment(wheelHouse({ name: "left" }));
  const { artifact } = await built(project, { environment });
  expect(installed(artifact.path)).toEqual(["left-1.0"]);
  expect(() =>
    execFileSync(join(venv, "bin/python"), ["-m", "pip", "--version"], { stdio: "ignore" }),
  ).toThrow("Command failed");
});

test("a hash that does not match is rejected", async () => {
  const project = projectOf({
    "app.py": HELLO,
    "requirements.txt": `left==1.0 --hash=sha256:${"0".repeat(64)}\n`,
  });
  const { failure } = await build(project, { environment: indexEnvironment(wheelHouse({ name: "left" })) });
  expect(failure?.message).toBe("pip could not install the dependencies.");
});
