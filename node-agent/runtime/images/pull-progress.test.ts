import { describe, test } from "vitest";
import { pullFailure } from "../daemon/docker-errors.ts";
import { RECORDED_PULL } from "../../../test/support/recorded-pull.ts";
import { type PullMessage, pullMessageSchema, PullProgress } from "./pull-progress.ts";

const recorded = RECORDED_PULL.trim()
  .split("\n")
  .map((line) => pullMessageSchema.parse(JSON.parse(line)));

function message(status: string, id?: string, current?: number, total?: number): PullMessage {
  return pullMessageSchema.parse({ status, id, progressDetail: { current, total } });
}

describe("the progress of a pull", () => {
  test("is given in layers and bytes, as the daemon learns of them", ({ expect }) => {
    const progress = new PullProgress("team/model:1");
    const details = recorded.map((line) => {
      progress.take(line);
      return progress.detail.replace(/^pulling image team\/model:1(: )?/, "");
    });
    expect([...new Set(details)]).toEqual([
      "",
      "0 of 1 layers",
      "0 of 2 layers",
      "0 of 3 layers",
      "0 of 4 layers",
      "0 of 5 layers",
      "0 of 5 layers, 0 of more than 30 MB",
      "0 of 5 layers, 0 of more than 34 MB",
      "0 of 5 layers, 3 of more than 34 MB",
      "0 of 5 layers, 7 of more than 34 MB",
      "0 of 5 layers, 7 of more than 46 MB",
      "0 of 5 layers, 8 of more than 46 MB",
      "0 of 5 layers, 8 of more than 47 MB",
      "0 of 5 layers, 9 of more than 47 MB",
      "0 of 5 layers, 9 of 53 MB",
      "0 of 5 layers, 12 of 53 MB",
      "0 of 5 layers, 15 of 53 MB",
      "0 of 5 layers, 21 of 53 MB",
      "0 of 5 layers, 30 of 53 MB",
      "0 of 5 layers, 47 of 53 MB",
      "0 of 5 layers, 53 of 53 MB",
      "1 of 5 layers, 53 of 53 MB",
      "2 of 5 layers, 53 of 53 MB",
      "3 of 5 layers, 53 of 53 MB",
      "4 of 5 layers, 53 of 53 MB",
      "5 of 5 layers, 53 of 53 MB",
    ]);
  });

  test("counts layers that are there already, and speaks of gigabytes", ({ expect }) => {
    const progress = new PullProgress("model");
    progress.take(message("Already exists", "a"));
    progress.take(message("Pulling fs layer", "b"));
    progress.take(message("Downloading", "b", 1_230_000_000, 4_600_000_000));
    expect(progress.detail).toBe("pulling image model: 1 of 2 layers, 1.2 of 4.6 GB");
  });

  test("is no progress when layers wait, or are tried again, or the same is said twice", ({ expect }) => {
    const progress = new PullProgress("model");
    const steps = [
      message("Pulling fs layer", "a"),
      message("Waiting", "a"),
      message("Downloading", "a", 10, 100),
      message("Downloading", "a", 10, 100),
      message("Retrying in 5 seconds", "a"),
      message("Retrying in 4 seconds", "a"),
      message("Downloading", "a", 20, 100),
    ];
    expect(steps.map((step) => progress.take(step))).toEqual([true, false, true, false, false, false, true]);
  });

  test("names no layer of an image that is there as the registry has it", ({ expect }) => {
    const progress = new PullProgress("team/model:1");
    for (const [status, id] of [
      ["Pulling from team/model", "1"],
      ["Digest: sha256:0"],
      ["Status: Image is up to date for team/model:1"],
    ] as const) {
      progress.take(message(status, id));
    }
    expect(progress.hasLayers).toBe(false);
    expect(progress.detail).toBe("pulling image team/model:1");
  });
});

describe("pullFailure", () => {
  test.for([
    "pull access denied for a/b, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
    "manifest for a/b:9 not found: manifest unknown: manifest unknown",
    'Get "https://r.example/v2/": dial tcp: lookup r.example: no such host',
    'Get "https://r.example/v2/": net/http: request canceled (Client.Timeout exceeded)',
    'Head "https://ghcr.io/v2/a/b/manifests/1": unauthorized',
    "toomanyrequests: You have reached your pull rate limit",
    "write /var/lib/docker/tmp/x: no space left on device",
    "no matching manifest for linux/arm64/v8 in the manifest list entries",
    "something new",
  ])("explains: %s", (text, { expect }) => {
    const failure = pullFailure(
      { imageName: "a/b", registryAuth: null },
      new Error(`(HTTP code 500) server error - ${text} `),
    );
    expect(failure.message).toMatchSnapshot();
    expect(failure.message).toContain("a/b");
    // Any server may have written it, also one that only the host can ask.
    expect(failure.message).not.toContain(text);
    expect(failure.answer).toBe(text);
  });

  test("says how to make an image that flash apps get and no registry has", ({ expect }) => {
    const error = new Error('Get "https://registry-1.docker.io/v2/": dial tcp: lookup failed');
    const detailFor = (imageName: string) => pullFailure({ imageName, registryAuth: null }, error).message;
    for (const name of ["flash", "flash-cpu", "flash-lb", "flash-lb-cpu"]) {
      expect(detailFor(`edgerun/${name}:py3.11-latest`)).toContain("npm run images -- flash");
    }
    expect(detailFor("team/flash:1")).not.toContain("npm run images");
  });

  const registryAuth = { username: "ada", password: "s3cr3t/1", name: "team" };

  test("names the credentials that were rejected, and repeats nothing of them", ({ expect }) => {
    const text =
      'Get "https://auth.example/token?account=ada&scope=x": denied: s3cr3t/1 and s3cr3t%2F1 are wrong';
    const { message, answer } = pullFailure({ imageName: "a/b", registryAuth }, new Error(text));
    expect(message).toMatchSnapshot();
    expect(message + answer).not.toMatch(/ada|s3cr3t/);
  });

  test("blames no credentials for a rate limit", ({ expect }) => {
    const text = "toomanyrequests: unauthorized: You have reached your pull rate limit";
    const { message } = pullFailure({ imageName: "a/b", registryAuth }, new Error(text));
    expect(message).toMatchSnapshot();
  });
});
