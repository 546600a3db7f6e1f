import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { indexEnvironment, type Wheel, wheelHouse } from "../support/wheel-house.ts";
import { build, built, HELLO, pathsIn, pathWithUv, projectOf, textIn } from "./build-project.ts";

const TOOLS = [
  { tool: "pip", path: {} },
  { tool: "uv", path: { PATH: pathWithUv() } },
];

const app = (dependencies: readonly string[]): string =>
  HELLO.replace('cpu="cpu3c-1-2"', `cpu="cpu3c-1-2", dependencies=${JSON.stringify(dependencies)}`);

const installed = (archive: string): string[] =>
  pathsIn(archive)
    .filter((path) => path.endsWith(".dist-info/METADATA"))
    .map((path) => path.replace(".dist-info/METADATA", ""));

/** A Python of that minor version, where this computer has one. */
function pythonOf(minor: string): string | undefined {
  const names = [`python${minor}`, ...pyenvVersions(minor)];
  return names.find((name) => {
    try {
      return (
        execFileSync(name, ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"],
        }).trim() === minor
      );
    } catch {
      return false;
    }
  });
}

function pyenvVersions(minor: string): string[] {
  try {
    const root = execFileSync("pyenv", ["root"], { encoding: "utf8" }).trim();
    const versions = execFileSync("pyenv", ["versions", "--bare"], { encoding: "utf8" }).split("\n");
    return versions
      .filter((name) => name.startsWith(`${minor}.`))
      .map((name) => join(root, "versions", name, "bin/python"));
  } catch {
    return [];
  }
}

const OWN_MINOR = execFileSync("python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], {
  encoding: "utf8",
}).trim();
const OTHER_MINOR = OWN_MINOR === "3.12" ? "3.13" : "3.12";
const tagOf = (minor: string, platform: string): string => {
  const python = `cp${minor.replace(".", "")}`;
  return `${python}-${python}-${platform}`;
};

describe.each(TOOLS)("with $tool", ({ path }) => {
  const environmentOf = (...wheels: readonly Wheel[]) => ({
    ...indexEnvironment(wheelHouse(...wheels)),
    ...path,
  });

  test("requirements and endpoints' dependencies are bundled, with what they need", async () => {
    const project = projectOf({
      "app.py": app(["declared>=1"]),
      "requirements.txt": "edgerun\nlisted==1.0  # why\n-r requirements/more.txt\n",
      "requirements/more.txt": "-r ../requirements/again.txt\n",
      "requirements/again.txt": "listed == 1.0\nincluded\n",
    });
    const environment = environmentOf(
      { name: "declared", version: "1.2" },
      { name: "listed", requires: ["needed; python_version > '3'"], scripts: ["listed = listed:main"] },
      { name: "needed", version: "3.0" },
      { name: "included" },
    );
    const { artifact, packages, shown, manifest } = await built(project, { environment });
    expect(installed(artifact.path)).toEqual(["declared-1.2", "included-1.0", "listed-1.0", "needed-3.0"]);
    expect(packages).toEqual(["listed==1.0", "listed == 1.0", "included", "declared>=1"]);
    expect(shown).toMatch(/✓ Installed 4 packages in \d+\.\d s/);
    expect(manifest.excluded_packages).toEqual([]);
    expect(
      pathsIn(artifact.path).filter((name) => /^bin\/|INSTALLER|REQUESTED|direct_url/.test(name)),
    ).toEqual([]);
  });

  test("torch and its like are left out, and all that only they need (traps 15 and 23)", async () => {
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
    expect(shown).toContain("Excluded: extra-one, numpy, torch, torchvision");
    expect(warnings).toEqual([
      expect.stringContaining("unheard-of: nothing needs"),
      expect.stringContaining("extra-one IS LEFT OUT, BUT THE IMAGE"),
    ]);
  });

  test("an image that says what it holds decides what is left out (trap 23)", async () => {
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

  test("identical builds have identical bytes (trap 35)", async () => {
    const environment = environmentOf(
      { name: "left", scripts: ["left = left:main"], requires: ["right"] },
      { name: "right" },
    );
    const shas = [];
    for (const project of [1, 2].map(() => projectOf({ "app.py": app(["left"]) }))) {
      shas.push((await built(project, { environment })).artifact.sha256);
      rmSync(join(project, ".flash"), { recursive: true });
      shas.push((await built(project, { environment })).artifact.sha256);
    }
    expect(new Set(shas).size).toBe(1);
  });

  test("markers are judged for the worker's Python, and wheels for its Linux are taken (trap 22)", async () => {
    const python = pythonOf(OTHER_MINOR);
    const environment = environmentOf(
      {
        name: "native",
        tag: tagOf(OTHER_MINOR, "manylinux_2_24_x86_64"),
        requires: [
          `for-target; python_version == '${OTHER_MINOR}'`,
          `for-host; python_version == '${OWN_MINOR}'`,
        ],
      },
      { name: "older", tag: tagOf(OTHER_MINOR, "manylinux_2_12_x86_64") },
      { name: "for-target" },
      { name: "for-host" },
      { name: "listed-for-target" },
    );
    const project = projectOf({
      "app.py": app(["native", "older"]),
      "requirements.txt": `listed-for-target; python_version == "${OTHER_MINOR}"\nlisted-for-host; python_version == "${OWN_MINOR}"\n`,
    });
    const bin = projectOf({});
    if (python) symlinkSync(python, join(bin, `python${OTHER_MINOR}`));
    const searched = environment["PATH" as keyof typeof environment] ?? PATH_WITHOUT_UV;
    const { artifact, warnings } = await built(project, {
      environment: { ...environment, PATH: `${bin}:${searched}` },
      pythonVersion: OTHER_MINOR,
    });
    const isByHost = warnings.some((warning) => warning.includes("PACKAGES MAY BE WRONG"));
    expect(isByHost).toBe("PATH" in path ? false : python === undefined);
    expect(installed(artifact.path)).toEqual(
      [
        isByHost ? "for_host-1.0" : "for_target-1.0",
        "listed_for_target-1.0",
        "native-1.0",
        "older-1.0",
      ].sort(),
    );
  });

  test("--no-deps installs what is listed alone", async () => {
    const project = projectOf({ "app.py": app(["left"]) });
    const environment = environmentOf({ name: "left", requires: ["right"] }, { name: "right" });
    const { artifact } = await built(project, { environment, withDependenciesOfDependencies: false });
    expect(installed(artifact.path)).toEqual(["left-1.0"]);
  });

  test("a package that cannot be had is named, with the tool's last words and advice", async () => {
    const project = projectOf({ "app.py": app(["windows-only"]) });
    const environment = environmentOf({ name: "windows-only", tag: "py3-none-win_amd64" });
    const { failure, shown } = await build(project, { environment });
    expect(failure?.message).toMatch(/^(pip|uv) could not install the dependencies\.$/);
    expect(failure?.advice.at(-1)).toContain("wheel of windows-only for Linux x86_64");
    expect(failure?.advice.length).toBeGreaterThan(1);
    expect(shown).toContain("✗ The dependencies could not be installed");
  });

  test("a module of the project takes the place of a package of its name", async () => {
    const project = projectOf({ "app.py": app(["left"]), "left/__init__.py": "OWN = True\n" });
    const environment = environmentOf({
      name: "left",
      files: { "left/__init__.py": "", "left/more.py": "" },
    });
    const { artifact, warnings } = await built(project, { environment });
    expect(textIn(artifact.path, "left/__init__.py")).toBe("OWN = True\n");
    expect(pathsIn(artifact.path)).not.toContain("left/more.py");
    expect(warnings).toEqual([expect.stringContaining("left of the project takes the place")]);
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
      environment: { PIP_FIND_LINKS: undefined, ...environment, ...path },
    });
    expect(installed(artifact.path)).toEqual(["left-1.0"]);
  });
});

const PATH_WITHOUT_UV = process.env["PATH"] ?? "";

test("whichever tool installs, the bytes are the same (trap 35)", async () => {
  const project = projectOf({ "app.py": app(["left"]) });
  const environment = indexEnvironment(wheelHouse({ name: "left", scripts: ["left = left:main"] }));
  const [first, second] = [
    await built(project, { environment }),
    await built(project, { environment: { ...environment, PATH: pathWithUv() } }),
  ];
  expect(second.artifact.sha256).toBe(first.artifact.sha256);
});

test("requirements that contradict each other are named with both places (trap 15)", async () => {
  const project = projectOf({ "app.py": app(["left>=2"]), "requirements.txt": "\nLeft == 1.4\n" });
  const { failure } = await build(project);
  expect(failure?.message).toBe("Two requirements contradict each other.");
  expect(failure?.advice).toEqual([
    "requirements.txt:2: Left == 1.4",
    expect.stringMatching(/^app\.py:3 \(endpoint hello\): left>=2$/),
  ]);
});

test.each([
  ["left>=1,<2", "left==1.5", false],
  ["left<1", "left>=0.9.5", false],
  ["left==1.*", "left>=1.9999", false],
  ["left~=1.4", "left!=1.4", false],
  ["left>1,<=2", "left<2,>=1", false],
  ["left==1", "left==2; python_version < '3'", false],
  ["left[a]==1", "left[b]==1.0", false],
  ["left~=1.4.2", "left>=1.5", true],
  ["left<1", "LEFT>=1", true],
  ["left==1.*", "left==2.*", true],
  ["left @ https://h/left-1-py3-none-any.whl", "left @ https://h/left-2-py3-none-any.whl", true],
])("%s and %s contradict each other: %s (trap 15)", async (one, other, isContradiction) => {
  const project = projectOf({ "app.py": HELLO, "requirements.txt": `${one}\n${other}\n` });
  const environment = { ...indexEnvironment(wheelHouse()), FLASH_IMAGE_PACKAGES: "left" };
  const { failure, result } = await build(project, { environment });
  expect(failure?.message).toBe(isContradiction ? "Two requirements contradict each other." : undefined);
  expect(result?.excluded).toEqual(isContradiction ? undefined : ["left"]);
});

test("every line that cannot be had is named with its place", async () => {
  const project = projectOf({
    "app.py": app(["../lib"]),
    "requirements.txt": "-e .\n-r more.txt\n-r lost.txt\nleft === = 1\n",
    "more.txt": "./left\n-r requirements.txt\n",
  });
  const { failure } = await build(project);
  expect(failure?.advice).toEqual([
    expect.stringMatching(/^requirements\.txt:1: "-e \." .* editable install/),
    expect.stringMatching(/^more\.txt:1: ".\/left" .* path of this computer/),
    "more.txt:2: requirements.txt includes itself.",
    expect.stringMatching(/^requirements\.txt:3: there is no file lost\.txt/),
    expect.stringMatching(/^app\.py:3 \(endpoint hello\): "..\/lib" .* path of this computer/),
  ]);
});

test("a requirement that is none is named with its place", async () => {
  const project = projectOf({ "app.py": HELLO, "requirements.txt": "fine\nleft = 1\n" });
  const { failure } = await build(project);
  expect(failure?.message).toBe("Some requirements cannot be read.");
  expect(failure?.advice[0]).toMatch(/^requirements\.txt:2: left = 1: /);
});

test("an interpreter without pip gets one for the build, and none for itself", async () => {
  const project = projectOf({ "app.py": app(["left>=1"]) });
  const venv = join(project, ".venv");
  execFileSync("python3", ["-m", "venv", "--without-pip", venv]);
  const environment = indexEnvironment(wheelHouse({ name: "left" }));
  const { artifact } = await built(project, { environment });
  expect(installed(artifact.path)).toEqual(["left-1.0"]);
  expect(() =>
    execFileSync(join(venv, "bin/python"), ["-m", "pip", "--version"], { stdio: "ignore" }),
  ).toThrow();
});

test("modules of the project are not in the way of those that pip needs", async () => {
  const project = projectOf({
    "app.py": app(["left>=1"]),
    "logging.py": "1 / 0\n",
    "packaging.py": "1 / 0\n",
  });
  const environment = indexEnvironment(wheelHouse({ name: "left" }));
  const { artifact } = await built(project, { environment });
  expect(installed(artifact.path)).toEqual(["left-1.0"]);
});

test("a hash that does not fit is refused", async () => {
  const project = projectOf({
    "app.py": HELLO,
    "requirements.txt": `left==1.0 --hash=sha256:${"0".repeat(64)}\n`,
  });
  const { failure } = await build(project, { environment: indexEnvironment(wheelHouse({ name: "left" })) });
  expect(failure?.message).toBe("pip could not install the dependencies.");
});

test("nothing of a RECORD points to what is not shipped", async () => {
  const project = projectOf({ "app.py": app(["left"]) });
  const environment = indexEnvironment(wheelHouse({ name: "left", scripts: ["left = left:main"] }));
  const { artifact } = await built(project, { environment });
  const paths = new Set(pathsIn(artifact.path));
  const record = textIn(artifact.path, "left-1.0.dist-info/RECORD").trim().split("\n");
  expect(record.map((line) => line.split(",")[0]).filter((file) => !paths.has(file ?? ""))).toEqual([]);
  expect(record.length).toBe(5);
});
