import { test } from "vitest";
import { fetchFailure } from "./fetch-failure.ts";

test.for([
  ["npm error code ENOTFOUND", "cannot be reached"],
  ["npm error code EAI_AGAIN", "cannot be reached"],
  ["npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write", "not enough room"],
  ["Error: EACCES: permission denied, mkdir '/x'", "cannot be written"],
  ["npm error code SELF_SIGNED_CERT_IN_CHAIN", "certificate"],
  ["npm error code E404", "refuses a package"],
  ["npm error code EINTEGRITY", "damaged"],
  ["npm error Something else", "npm could not install"],
] as const)("%s is said as: %s", ([words, said], { expect }) => {
  const failure = fetchFailure(`npm warn EBADENGINE noise\n${words}`, "/cache");
  expect(failure.message).toContain(said);
  expect(failure.advice.join("\n")).not.toContain("noise");
});
