import { test } from "vitest";
import { fetchFailure } from "./fetch-failure.ts";

test.for([
  "npm error code ENOTFOUND",
  "npm error code EAI_AGAIN",
  "npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write",
  "Error: EACCES: permission denied, mkdir '/x'",
  "npm error code SELF_SIGNED_CERT_IN_CHAIN",
  "npm error code E404",
  "npm error code EINTEGRITY",
  "npm error Something else",
])("%s is explained", (output, { expect }) => {
  const failure = fetchFailure(`npm warn EBADENGINE noise\n${output}`, "/cache");
  expect(failure.message).toMatchSnapshot();
  expect(failure.advice.join("\n")).not.toContain("noise");
});
