import fc from "fast-check";
import { test } from "vitest";
import { parseExposition } from "../../../test/support/exposition-parser.ts";
import { expose, histogramSamples } from "./exposition.ts";
import { Histogram } from "./histogram.ts";

test("any label and any value are parsed as they were written", ({ expect }) => {
  const samples = fc.uniqueArray(fc.record({ text: fc.string(), value: fc.double({ noNaN: true }) }), {
    selector: ({ text }) => text,
    minLength: 1,
  });
  fc.assert(
    fc.property(samples, (list) => {
      const finite = list.map(({ text, value }) => ({
        labels: { text },
        value: Number.isFinite(value) ? value : 1,
      }));
      const text = expose([{ name: "a", help: "Something.", type: "gauge", samples: finite }]);
      const read = parseExposition(text)
        .get("a")
        ?.samples.map(({ labels, value }) => ({ labels, value: value + 0 }));
      expect(read).toEqual(finite.map(({ labels, value }) => ({ labels, value: value + 0 })));
    }),
  );
});

test("a histogram of any values has buckets that grow up to its count", ({ expect }) => {
  fc.assert(
    fc.property(fc.array(fc.nat(10_000_000)), (values) => {
      const histogram = new Histogram();
      for (const value of values) histogram.add(value);
      const samples = histogramSamples({ a: "b" }, histogram);
      const families = parseExposition(expose([{ name: "h", help: "Times.", type: "histogram", samples }]));
      expect(families.get("h")?.samples.at(-1)).toMatchObject({ name: "h_count", value: values.length });
    }),
  );
});

test("a family without values is left out", ({ expect }) => {
  expect(expose([{ name: "a", help: "Nothing.", type: "gauge", samples: [] }])).toBe("");
});
