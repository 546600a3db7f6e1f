import { test } from "vitest";
import { describeEscape, escapesOf, type ComponentVersion } from "./known-escapes.ts";

const PATCHED =
  "runc (1.1.5+ds1-1+deb12u1) bookworm-security; urgency=high\n\n  * CVE-2024-21626: several breakouts\n";
const UNPATCHED = "runc (1.1.5+ds1-1) unstable; urgency=medium\n\n  * CVE-2023-27561\n";
const MAKERS = undefined;

type Case = readonly [
  ComponentVersion["component"],
  string,
  ComponentVersion["changelog"],
  readonly string[],
];

test.for([
  ["Docker", "28.3.0", MAKERS, []],
  ["Docker", "20.10.24+dfsg1", UNPATCHED, []],
  ["Docker", "20.10.8", MAKERS, ["certain CVE-2021-41091"]],
  ["Docker", "19.03.15", null, ["unclear CVE-2021-41091"]],
  ["containerd", "1.6.20~ds1", null, []],
  ["containerd", "1.4.13", MAKERS, []],
  ["containerd", "1.5.6", MAKERS, ["certain CVE-2021-41103"]],
  ["containerd", "v2.1.3", MAKERS, []],
  ["runc", "1.3.3", MAKERS, []],
  ["runc", "1.4.0", MAKERS, []],
  ["runc", "1.3.2", MAKERS, ["advised CVE-2025-31133"]],
  ["runc", "1.1.12", MAKERS, ["advised CVE-2025-31133"]],
  ["runc", "1.1.11", MAKERS, ["certain CVE-2024-21626", "advised CVE-2025-31133"]],
  ["runc", "1.0.0~rc93+ds1", null, ["unclear CVE-2024-21626", "advised CVE-2025-31133"]],
  ["runc", "1.1.5+ds1", PATCHED, ["advised CVE-2025-31133"]],
  ["runc", "1.1.5+ds1", UNPATCHED, ["certain CVE-2024-21626", "advised CVE-2025-31133"]],
  ["NVIDIA Container Toolkit", "1.17.8", MAKERS, []],
  ["NVIDIA Container Toolkit", "1.18.0~rc.1", MAKERS, []],
  ["NVIDIA Container Toolkit", "1.17.7", MAKERS, ["certain CVE-2025-23266"]],
  ["NVIDIA Container Toolkit", "1.9.0", MAKERS, ["certain CVE-2025-23266"]],
] satisfies Case[])("%s %s", ([part, version, changelog, expected], { expect }) => {
  const found = escapesOf([{ component: part, version, changelog }]);
  expect(found.map(({ certainty, cve }) => `${certainty} ${cve}`)).toEqual(expected);
  for (const escape of found) {
    const { text, fix } = describeEscape(escape);
    expect(text).toContain(version);
    expect(fix).toContain(escape.fixedIn);
  }
});
