import { test } from "vitest";
import { digestIn } from "./docker-images.ts";
import { listedName } from "../../../src/contract/content.ts";
import { isImageName, isPinned, registryOf, repositoryOf } from "./image-name.ts";

test("the registry is the first part of an image name if it looks like a host", ({ expect }) => {
  expect(registryOf("ghcr.io/team/model:1")).toBe("ghcr.io");
  expect(registryOf("localhost/model")).toBe("localhost");
  expect(registryOf("10.0.0.1:5000/model")).toBe("10.0.0.1:5000");
  expect(registryOf("team/model")).toBe("https://index.docker.io/v1/");
  expect(registryOf("model:1.0")).toBe("https://index.docker.io/v1/");
});

test.for([
  ["team/model:Tag", true],
  ["GHCR.io/team/model", true],
  ["UPPER/case:1", false],
  ["Host/x", false],
] as const)("%s is an image name: %s", ([name, isOne], { expect }) => {
  expect(isImageName(name)).toBe(isOne);
});

test.for([
  ["busybox", "busybox:latest", "busybox"],
  ["docker.io/library/busybox:1.36", "busybox:1.36", "busybox"],
  ["docker.io/team/model", "team/model:latest", "team/model"],
  ["127.0.0.1:5000/team/model", "127.0.0.1:5000/team/model:latest", "127.0.0.1:5000/team/model"],
  ["ghcr.io/team/model@sha256:ab", "ghcr.io/team/model@sha256:ab", "ghcr.io/team/model"],
  ["ghcr.io/team/model:1@sha256:ab", "ghcr.io/team/model:1@sha256:ab", "ghcr.io/team/model"],
] as const)("%s is listed as %s, of the repository %s", ([name, listed, repository], { expect }) => {
  expect(listedName(name)).toBe(listed);
  expect(repositoryOf(name)).toBe(repository);
  expect(isPinned(name)).toBe(name.includes("@"));
});

test("the digest of an image is the one of the repository that its name points to", ({ expect }) => {
  const known = ["mirror.example/team/model@sha256:aa", "team/model@sha256:bb"];
  expect(digestIn(known, "docker.io/team/model:1")).toBe("sha256:bb");
  expect(digestIn(known, "mirror.example/team/model")).toBe("sha256:aa");
  expect(digestIn(known, "team/other")).toBeUndefined();
});
