import { describe, test } from "vitest";
import { pullFailure } from "./docker-errors.ts";
import { registryOf } from "./image-name.ts";
import { PullProgress } from "./pull-progress.ts";

test("pull progress counts layers, those that are there already included", ({ expect }) => {
  const progress = new PullProgress("team/model:1");
  const details = [
    { id: "1", status: "Pulling from team/model" },
    { id: "aaa", status: "Pulling fs layer" },
    { id: "bbb", status: "Already exists" },
    { id: "ccc", status: "Pulling fs layer" },
    { id: "aaa", status: "Downloading" },
    { id: "aaa", status: "Pull complete" },
    { status: "Digest: sha256:0" },
    { id: "ccc", status: "Pull complete" },
  ].map((message) => {
    progress.take(message);
    return progress.detail.replace("pulling image team/model:1", "").replace(/^: /, "");
  });
  expect(details).toEqual([
    "",
    "0 of 1 layers",
    "1 of 2 layers",
    "1 of 3 layers",
    "1 of 3 layers",
    "2 of 3 layers",
    "2 of 3 layers",
    "3 of 3 layers",
  ]);
});

test("the registry is the first part of an image name if it looks like a host", ({ expect }) => {
  expect(registryOf("ghcr.io/team/model:1")).toBe("ghcr.io");
  expect(registryOf("localhost/model")).toBe("localhost");
  expect(registryOf("10.0.0.1:5000/model")).toBe("10.0.0.1:5000");
  expect(registryOf("team/model")).toBe("https://index.docker.io/v1/");
  expect(registryOf("model:1.0")).toBe("https://index.docker.io/v1/");
});

describe("pullFailure", () => {
  test.for([
    [
      "pull access denied for a/b, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
      /not found in its registry, or is private/,
    ],
    ["manifest for a/b:9 not found: manifest unknown: manifest unknown", /was not found in its registry/],
    ['Get "https://r.example/v2/": dial tcp: lookup r.example: no such host', /not reachable from this host/],
    ['Get "https://r.example/v2/": net/http: request canceled (Client.Timeout exceeded)', /not reachable/],
    ['Head "https://ghcr.io/v2/a/b/manifests/1": unauthorized', /registry credentials/],
    ["toomanyrequests: You have reached your pull rate limit", /too many pulls/],
    ["write /var/lib/docker/tmp/x: no space left on device", /does not fit on this host's disk/],
    ["no matching manifest for linux/arm64/v8 in the manifest list entries", /this host's processor/],
    ["something new", /Image a\/b could not be pulled\. The answer was: something new/],
  ] as const)("explains: %s", ([text, sentence], { expect }) => {
    const detail = pullFailure(
      { imageName: "a/b", registryAuth: null },
      new Error(`(HTTP code 500) server error - ${text} `),
    );
    expect(detail).toMatch(sentence);
    expect(detail).toContain(`The answer was: ${text}`);
    expect(detail).toMatch(/^Image a\/b /);
  });

  const registryAuth = { username: "ada", password: "s3cr3t/1", name: "team" };

  test("names the credentials that were refused, and repeats nothing of them", ({ expect }) => {
    const text =
      'Get "https://auth.example/token?account=ada&scope=x": denied: s3cr3t/1 and s3cr3t%2F1 are wrong';
    const detail = pullFailure({ imageName: "a/b", registryAuth }, new Error(text));
    expect(detail).toContain("The registry refused the credentials 'team' for image a/b.");
    expect(detail).not.toMatch(/ada|s3cr3t/);
  });

  test("blames no credentials for a rate limit", ({ expect }) => {
    const text = "toomanyrequests: unauthorized: You have reached your pull rate limit";
    expect(pullFailure({ imageName: "a/b", registryAuth }, new Error(text))).toContain("too many pulls");
  });
});
