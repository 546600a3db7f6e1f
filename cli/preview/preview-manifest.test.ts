import { test } from "vitest";
import type { ManifestResource } from "../../src/contract/flash/flash-manifest.ts";
import { prepareManifest } from "./preview-manifest.ts";

const QUEUE: ManifestResource = { is_load_balanced: false, functions: [], imageName: "image" };
const CHAT: ManifestResource = {
  ...QUEUE,
  template: {
    containerRegistryAuthId: "login",
    env: [{ key: "AUTH", value: "Bearer {{ SECRET_HF_TOKEN }}" }],
  },
  env: { OTHER: "{{RUNPOD_SECRET_HF_TOKEN}} and {{ braces }}", DSN: "", LEVEL: "INFO", EMPTY: "" },
};

function prepare(resource: ManifestResource, values: Readonly<Record<string, string>> = {}) {
  const { manifest, secrets } = prepareManifest({ resources: { chat: resource } }, values);
  return { chat: manifest.resources["chat"], secrets };
}

test("variables refer to secrets of .env, and one that has a value keeps it", ({ expect }) => {
  const values = { HF_TOKEN: "hf_1", DSN: "postgres://x", LEVEL: "DEBUG", UNUSED: "u" };
  const { chat, secrets } = prepare(CHAT, values);
  expect(chat?.env).toEqual({
    AUTH: "Bearer {{ SECRET_HF_TOKEN }}",
    OTHER: "{{ SECRET_HF_TOKEN }} and {{ braces }}",
    DSN: "{{ SECRET_DSN }}",
    LEVEL: "INFO",
    EMPTY: "",
  });
  expect(chat?.template).toEqual({ env: [], containerRegistryAuthId: "" });
  expect(secrets).toEqual({ HF_TOKEN: "hf_1", DSN: "postgres://x" });
});

test("a secret that is empty in .env leaves nothing in its place", ({ expect }) => {
  const { chat, secrets } = prepare(CHAT, { HF_TOKEN: "" });
  expect(chat?.env).toMatchObject({ AUTH: "Bearer ", DSN: "" });
  expect(secrets).toEqual({});
});

test("a missing secret is named with its variable and endpoint", ({ expect }) => {
  expect(() => prepare(CHAT, { DSN: "d" })).toThrow(
    expect.objectContaining({
      advice: [
        "HF_TOKEN=… for the variable AUTH of chat",
        "HF_TOKEN=… for the variable OTHER of chat",
        expect.stringContaining(".env"),
      ],
    }),
  );
});

test("each endpoint has a worker from the start, and no more than it declares", ({ expect }) => {
  expect(prepare(QUEUE).chat).toMatchObject({ workersMin: 1, workersMax: 1 });
  expect(prepare({ ...QUEUE, workersMin: 2, workersMax: 4 }).chat).toMatchObject({
    workersMin: 2,
    workersMax: 4,
  });
});

test("volumes of the account become empty ones of the preview", ({ expect }) => {
  const own = [{ name: "models", dataCenterId: "US-KS-2", size: 10 }];
  const named = { ...QUEUE, networkVolume: { name: "models", size: 500, dataCenterId: "US-KS-2" } };
  expect(prepare(named).chat?.networkVolumes).toEqual(own);
  expect(prepare({ ...QUEUE, networkVolumeId: "v1" }).chat?.networkVolumes).toMatchObject([{ name: "v1" }]);
});
