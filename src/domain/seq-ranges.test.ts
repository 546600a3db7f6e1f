import { fc, test } from "@fast-check/vitest";
import { describe } from "vitest";
import { countSeqs, SeqOwners, withSeqs } from "./seq-ranges.ts";

describe("withSeqs", () => {
  test("neighbours make one run, over several calls too", ({ expect }) => {
    const ranges = withSeqs(withSeqs([], [5, 6, 7]), [8, 100, 101, 9]);
    expect(ranges).toEqual([
      [5, 4],
      [100, 2],
      [9, 1],
    ]);
    expect(countSeqs(ranges)).toBe(7);
  });
});

describe("SeqOwners", () => {
  test.prop([fc.array(fc.tuple(fc.nat(5), fc.nat(3)), { maxLength: 20 })])(
    "finds the owner of every number, and none between",
    (steps, { expect }) => {
      const seqsOf = new Map<string, number[]>();
      const ownerOf = new Map<number, string>();
      let seq = 0;
      for (const [gap, owner] of steps) {
        seq += gap + 1;
        ownerOf.set(seq, `owner${owner}`);
        seqsOf.set(`owner${owner}`, [...(seqsOf.get(`owner${owner}`) ?? []), seq]);
      }
      const owners = new SeqOwners([...seqsOf].map(([name, seqs]) => [name, withSeqs([], seqs)] as const));
      for (let each = 0; each <= seq + 1; each += 1) expect(owners.find(each)).toBe(ownerOf.get(each));
    },
  );
});
