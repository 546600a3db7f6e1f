import { test } from "vitest";
import { fillVariables } from "./secret-values.ts";

const DECLARED = new Map([
  [
    "chat",
    [
      { key: "AUTH", value: "Bearer {{ SECRET_HF_TOKEN }}" },
      { key: "OTHER", value: "{{RUNPOD_SECRET_HF_TOKEN}} and {{ braces }}" },
      { key: "DSN", value: "" },
      { key: "LEVEL", value: "INFO" },
    ],
  ],
]);

test("references and empty variables are filled from .env, and a value that is declared stays", ({
  expect,
}) => {
  const values = { HF_TOKEN: "hf_1", DSN: "postgres://x", LEVEL: "DEBUG", UNUSED: "u" };
  const { variables, secrets } = fillVariables(DECLARED, values);
  expect(variables.get("chat")).toEqual({
    AUTH: "Bearer hf_1",
    OTHER: "hf_1 and {{ braces }}",
    DSN: "postgres://x",
    LEVEL: "INFO",
  });
  expect(secrets).toEqual(["hf_1", "postgres://x"]);
});

test("what a value says itself is text, also where it looks like a reference", ({ expect }) => {
  const { variables } = fillVariables(DECLARED, { HF_TOKEN: "{{ SECRET_DSN }}", DSN: "d" });
  expect(variables.get("chat")?.["AUTH"]).toBe("Bearer {{ SECRET_DSN }}");
});

test("each missing secret is named with its variable and endpoint", ({ expect }) => {
  expect(() => fillVariables(DECLARED, { DSN: "d" })).toThrow(
    expect.objectContaining({
      advice: [
        "HF_TOKEN=… for the variable AUTH of chat",
        "HF_TOKEN=… for the variable OTHER of chat",
        expect.stringContaining(".env"),
      ],
    }),
  );
});
