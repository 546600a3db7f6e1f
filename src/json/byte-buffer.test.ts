import fc from "fast-check";
import { test } from "vitest";
import { ByteBuffer } from "./byte-buffer.ts";

test("spans and numbers become one text", ({ expect }) => {
  const span = fc.oneof(fc.nat(), fc.string({ unit: "grapheme", maxLength: 200 }));
  fc.assert(
    fc.property(fc.array(span), (spans) => {
      const buffer = new ByteBuffer();
      for (const one of spans) {
        if (typeof one === "number") buffer.addNumber(one);
        else {
          const bytes = new TextEncoder().encode(`<${one}>`);
          buffer.add(bytes, 1, bytes.length - 1);
        }
      }
      expect(buffer.text()).toBe(spans.join(""));
    }),
  );
});
