/** A directory of hand-made wheels, which stands for a package index. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export type Wheel = {
  readonly name: string;
  readonly version?: string;
  /** Such as cp312-cp312-manylinux_2_24_x86_64; by default one for every Python. */
  readonly tag?: string;
  readonly requires?: readonly string[];
  /** By path; by default one module with the wheel's name. */
  readonly files?: Readonly<Record<string, string>>;
  /** `<script> = <module>:<function>` */
  readonly scripts?: readonly string[];
  /** Size of a file of zeros, which compress well. */
  readonly ballastBytes?: number;
};

const SCRIPT = `
import base64, hashlib, io, json, os, sys, zipfile
def record(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
house, wheels = json.load(sys.stdin)
for wheel in wheels:
    name, version = wheel["name"], wheel.get("version", "1.0")
    tag, module = wheel.get("tag", "py3-none-any"), wheel["name"].replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {path: text.encode() for path, text in wheel.get("files", {module + ".py": f"VERSION = {version!r}\\n"}).items()}
    if wheel.get("ballastBytes"):
        files[f"{module}_ballast.bin"] = bytes(wheel["ballastBytes"])
    needs = "".join(f"Requires-Dist: {text}\\n" for text in wheel.get("requires", []))
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{needs}".encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: true\\nTag: {tag}\\n".encode()
    if wheel.get("scripts"):
        files[f"{info}/entry_points.txt"] = ("[console_scripts]\\n" + "\\n".join(wheel["scripts"]) + "\\n").encode()
    lines = [f"{path},{record(data)},{len(data)}" for path, data in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = ("\\n".join(lines) + "\\n").encode()
    with zipfile.ZipFile(os.path.join(house, f"{module}-{version}-{tag}.whl"), "w") as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path), data)
`;

/** The directory; it is removed when the test ends. */
export function wheelHouse(...wheels: readonly Wheel[]): string {
  const house = mkdtempSync(join(tmpdir(), "edgerun-wheels-"));
  onTestFinished(() => rmSync(house, { recursive: true, force: true }));
  execFileSync("python3", ["-c", SCRIPT], { input: JSON.stringify([house, wheels]) });
  return house;
}

/** With which pip and uv find packages there, and nowhere else. */
export function indexEnvironment(house: string): Record<string, string> {
  return {
    PIP_NO_INDEX: "1",
    PIP_FIND_LINKS: house,
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    UV_NO_INDEX: "1",
    UV_FIND_LINKS: house,
    UV_OFFLINE: "1",
  };
}
