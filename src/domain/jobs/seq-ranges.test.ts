import fc from "fast-check";
import { test } from "vitest";
import { countSeqs, SeqOwners, withSeqs } from "./seq-ranges.ts";

test("neighbours make one run, over several calls too", ({ expect }) => {
  const ranges = withSeqs(withSeqs([], [5, 6, 7]), [8, 100, 101, 9]);
  expect(ranges).toEqual([
    [5, 4],
    [100, 2],
    [9, 1],
  ]);
  expect(countSeqs(ranges)).toBe(7);
});

const gapsAndOwners = fc.array(fc.tuple(fc.nat(5), fc.nat(3)), { maxLength: 20 });

test("the owner of every number is found, and none between", ({ expect }) => {
  fc.assert(
    fc.property(gapsAndOwners, (steps) => {
      const seqsOf = new Map<string, number[]>();
      const ownerOf = new Map<number, string>();
      let seq = 0;
      for (const [gap, number] of steps) {
        const owner = `owner${number}`;
        seq += gap + 1;
        ownerOf.set(seq, owner);
        seqsOf.set(owner, [...(seqsOf.get(owner) ?? []), seq]);
      }
      const owners = new SeqOwners([...seqsOf].map(([owner, seqs]) => [owner, withSeqs([], seqs)] as const));
      for (let each = 0; each <= seq + 1; each += 1) expect(owners.find(each)).toBe(ownerOf.get(each));
    }),
  );
});
