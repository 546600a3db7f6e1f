import { test } from "vitest";
import { isImageReference } from "./image-reference.ts";

test.for([
  "worker",
  "worker:1",
  "library/worker:latest",
  "ghcr.io/acme/worker:1.4-cuda12",
  "localhost:5000/a/b_c/d__e/f-g.h:v1",
  "[::1]:5000/worker",
  "edgerun/process",
  "127.0.0.1:5000/worker@sha256:" + "0".repeat(64),
  "acme/worker:1@sha256:" + "f".repeat(64),
])("%s is a reference to an image", (text, { expect }) => {
  expect(isImageReference(text)).toBe(true);
});

test.for([
  "",
  "not valid image",
  "None",
  "Acme/Worker:1",
  "worker:",
  "worker: 1",
  "/worker:1",
  "worker/:1",
  "https://ghcr.io/acme/worker:1",
  "worker:1@sha256:123",
  "worker\n:1",
  `${"a/".repeat(600)}b`,
  `${"a-".repeat(499)}!`,
])("%j is none", (text, { expect }) => {
  expect(isImageReference(text)).toBe(false);
});
