import { test } from "vitest";
import { Secrets } from "./secrets.ts";

test("keys of the service are redacted anywhere", ({ expect }) => {
  const secrets = new Secrets({});
  const key = `er_${"0a".repeat(32)}`;
  expect(secrets.redact(`with ${key}, done`)).toBe("with [secret], done");
  expect(secrets.redact(`ere_${"0a".repeat(32)}`)).toBe("[secret]");
  expect(secrets.redact("https://edge/graphql?api_key=abc&x=1")).toBe(
    "https://edge/graphql?api_key=[secret]&x=1",
  );
  expect(secrets.redact("Authorization: Bearer abc.def")).toBe("Authorization: Bearer [secret]");
});

test("credentials in a URL are redacted, and references to some stay", ({ expect }) => {
  const secrets = new Secrets({});
  expect(secrets.redact("--index-url https://me:pa@ss@host/simple, or me@host")).toBe(
    "--index-url https://[secret]@host/simple, or me@host",
  );
  const kept = "git+ssh://git@host/x.git, https://${TOKEN}@host/simple, http://localhost:8888/@me";
  expect(secrets.redact(kept)).toBe(kept);
});

test("values of variables with secret names are redacted", ({ expect }) => {
  const secrets = new Secrets({ HF_TOKEN: "hugging-face-token", HOME: "/home/person-of-this-name" });
  expect(secrets.redact("token hugging-face-token in /home/person-of-this-name")).toBe(
    "token [secret] in /home/person-of-this-name",
  );
});

test("secrets that are added later are redacted from then on", ({ expect }) => {
  const secrets = new Secrets({});
  expect(secrets.redact("key-from-a-file")).toBe("key-from-a-file");
  secrets.add("key-from-a-file");
  expect(secrets.redact("key-from-a-file")).toBe("[secret]");
});

test("short values are not redacted", ({ expect }) => {
  expect(new Secrets({ API_KEY: "dev" }).redact("the development server")).toBe("the development server");
});
