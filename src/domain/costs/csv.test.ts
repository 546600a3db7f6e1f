import { test } from "vitest";
import { toCsv } from "./csv.ts";

test("a table has a line of names, and quotes what must be", ({ expect }) => {
  const rows = [
    { name: 'a "b", c', cost: 0.5 },
    { name: "=1+1", cost: -1 },
    { name: "two\r\nlines", cost: 0 },
  ];
  expect(toCsv(["name", "cost"], rows)).toBe(
    'name,cost\r\n"a ""b"", c",0.5\r\n\'=1+1,-1\r\n"two\r\nlines",0\r\n',
  );
  expect(toCsv(["name"], [])).toBe("name\r\n");
});
