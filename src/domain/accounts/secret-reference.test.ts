import fc from "fast-check";
import { describe, test } from "vitest";
import { filledLength, fillReferences, referencedSecrets, SECRET_NAME } from "./secret-reference.ts";

const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/);
const blanks = fc.stringMatching(/^[ \t]{0,3}$/);
const reference = fc
  .tuple(blanks, fc.constantFrom("SECRET_", "RUNPOD_SECRET_"), name, blanks)
  .map(([before, prefix, of, after]) => ({ text: `{{${before}${prefix}${of}${after}}}`, of }));
/** Text between references; a brace at its edge would become part of one. */
const plain = fc.string().filter((text) => !/[{}]/.test(text));

describe("references to secrets", () => {
  test("are found in order, and filled where they stand", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(plain, reference)), plain, (pairs, rest) => {
        const text = pairs.map(([before, { text: written }]) => before + written).join("") + rest;
        expect(referencedSecrets(text)).toEqual(pairs.map(([, { of }]) => of));
        const filled = pairs.map(([prefix, { of: secret }]) => `${prefix}<${secret}>`).join("") + rest;
        expect(fillReferences(text, (of) => `<${of}>`)).toBe(filled);
        expect(filledLength(text, (of) => of.length + 2)).toBe(filled.length);
      }),
    );
  });

  test("leave a text without any as it is", ({ expect }) => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes("SECRET_")),
        (text) => {
          expect(referencedSecrets(text)).toEqual([]);
          expect(fillReferences(text, () => "!")).toBe(text);
        },
      ),
    );
  });

  test("are not looked for in a value that was put in", ({ expect }) => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(fillReferences("<{{ SECRET_a }}>", () => value)).toBe(`<${value}>`);
      }),
      { examples: [["{{ SECRET_a }}"], ["$& $1 $$"]] },
    );
  });

  test.for([
    ["{{ SECRET_ }}", ""],
    ["{{ SECRET_two words }}", "two words"],
    ["{{ SECRET_RUNPOD_SECRET_a }}", "RUNPOD_SECRET_a"],
    ["{{{SECRET_a}}}", "a"],
    ["{{SECRET_a}}{{SECRET_a", "a"],
  ] as const)("%s refers to '%s'", ([text, of], { expect }) => {
    expect(referencedSecrets(text)).toEqual([of]);
  });

  test.for(["{{ secret_a }}", "{ SECRET_a }", "{{ MY_SECRET_a }}", "{{SECRET_{{", "{{ '{{' }}"])(
    "%s refers to none",
    (text, { expect }) => {
      expect(referencedSecrets(text)).toEqual([]);
    },
  );

  test("can hold each name that a secret may have", ({ expect }) => {
    fc.assert(
      fc.property(name, (of) => {
        expect(SECRET_NAME.test(of)).toBe(true);
        expect(referencedSecrets(`{{ SECRET_${of} }}`)).toEqual([of]);
      }),
    );
  });
});
