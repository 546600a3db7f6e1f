/** The project's own rules for oxlint. */
import { databaseAccess } from "./database-access.mjs";
import { layers } from "./layers.mjs";
import { noSleeps } from "./no-sleeps.mjs";

/**
 * A table of a module in which any string may be looked up is a Map.
 *
 * `table["constructor"]` of an object literal finds what every object has, whatever the table holds. A table whose
 * keys are a closed union is safe, since the compiler lets nothing else be looked up in it.
 */
const WRAPPERS = new Set(["Readonly", "Partial", "Required"]);

function isOpenRecord(type) {
  if (type?.type === "TSTypeLiteral")
    return type.members.some((member) => member.type === "TSIndexSignature");
  if (type?.type !== "TSTypeReference" || type.typeName.type !== "Identifier") return false;
  const [first] = type.typeArguments?.params ?? [];
  if (WRAPPERS.has(type.typeName.name)) return isOpenRecord(first);
  return type.typeName.name === "Record" && first?.type === "TSStringKeyword";
}

function isInModule({ parent }) {
  return parent?.type === "Program" || parent?.type === "ExportNamedDeclaration";
}

const noOpenTables = {
  create(context) {
    return {
      VariableDeclaration(node) {
        if (!isInModule(node)) return;
        for (const { id, init } of node.declarations) {
          if (init?.type !== "ObjectExpression" || !isOpenRecord(id.typeAnnotation?.typeAnnotation)) continue;
          const message = "Look strings up in a Map: an object also has `constructor` and `__proto__`.";
          context.report({ node: id, message });
        }
      },
    };
  },
};

// oxlint-disable-next-line import/no-default-export -- this is how oxlint loads a plugin
export default {
  meta: { name: "edgerun" },
  rules: {
    layers,
    "database-access": databaseAccess,
    "no-open-tables": noOpenTables,
    "no-sleeps": noSleeps,
  },
};
