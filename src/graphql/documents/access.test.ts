import { parse } from "graphql";
import { describe, test } from "vitest";
import { selectsOnly, neededAccess } from "./access.ts";

const CATALOG = new Set(["gpuTypes", "dataCenters", "createFlashAuthRequest"]);

describe("asking only for some fields", () => {
  test("aliases, fragments and __typename change nothing", ({ expect }) => {
    for (const document of [
      "{ gpuTypes { id } }",
      "query Q { a: gpuTypes { id } b: dataCenters { id } __typename }",
      "{ ...A ... on Query { dataCenters { id } } ... { gpuTypes { id } } } fragment A on Query { gpuTypes { myself { id } } }",
      "mutation { createFlashAuthRequest { id } }",
      "query A { gpuTypes { id } } query B { dataCenters { id } }",
    ]) {
      expect(selectsOnly(parse(document), CATALOG), document).toBe(true);
    }
  });

  test("any other field of the root is noticed, wherever it stands", ({ expect }) => {
    for (const document of [
      "{ myself { id } }",
      "{ gpuTypes { id } myself { id } }",
      "{ gpuTypes: myself { id } }",
      "{ gpuTypes { id } ...A } fragment A on Query { ...B } fragment B on Query { x: myself { id } }",
      "{ gpuTypes { id } ... on Query { ... { myself { id } } } }",
      "query A { gpuTypes { id } } query B { myself { id } }",
      "{ gpuTypes { id } __schema { types { name } } }",
      "{ __typename }",
      "{ ...A } fragment A on Query { ...A }",
      "fragment A on Query { gpuTypes { id } }",
    ]) {
      expect(selectsOnly(parse(document), CATALOG), document).toBe(false);
    }
  });

  test("fragments that multiply or go in circles cost nothing", ({ expect }) => {
    const doubling = Array.from(
      { length: 200 },
      (_, index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`,
    ).join(" ");
    const document = `{ ...F0 } ${doubling} fragment F200 on Query { gpuTypes { id } ...F0 }`;
    expect(selectsOnly(parse(document), CATALOG)).toBe(true);
  });
});

describe("needed access", () => {
  test("a query needs read, a mutation write, introspection only a key", ({ expect }) => {
    expect(neededAccess(parse("{ myself { id } }"), null)).toBe("read");
    expect(neededAccess(parse("{ myself { id } __typename }"), null)).toBe("read");
    expect(neededAccess(parse("mutation { deleteEndpoint(id: 1) }"), null)).toBe("write");
    expect(neededAccess(parse("mutation { __typename }"), null)).toBe("write");
    expect(neededAccess(parse('{ __schema { types { name } } __type(name: "A") { name } }'), null)).toBe(
      "none",
    );
    expect(neededAccess(parse("{ ...A } fragment A on Query { __typename }"), null)).toBe("none");
    expect(neededAccess(parse("{ ...A } fragment A on Query { __typename me: myself { id } }"), null)).toBe(
      "read",
    );
  });

  test("of several operations the one that is named counts, and without a name the highest", ({ expect }) => {
    const document = parse(
      "query A { myself { id } } mutation B { deleteEndpoint(id: 1) } query C { __typename }",
    );
    expect(neededAccess(document, "A")).toBe("read");
    expect(neededAccess(document, "B")).toBe("write");
    expect(neededAccess(document, "C")).toBe("none");
    expect(neededAccess(document, null)).toBe("write");
    expect(neededAccess(document, "nobody")).toBe("write");
  });
});
