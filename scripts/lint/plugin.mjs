/** The project's own rules for oxlint. */
import { layers } from "./layers.mjs";

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

/**
 * A test waits by `until(condition, what)`, which has a deadline and says what did not happen: no test sleeps, and none
 * has a polling loop of its own.
 */
const noSleeps = {
  create(context) {
    let sleep;
    return {
      ImportDeclaration({ source, specifiers }) {
        if (!/^(?:node:)?timers\/promises$/.test(source.value)) return;
        sleep = specifiers.find(({ imported }) => imported?.name === "setTimeout")?.local.name;
      },
      CallExpression(node) {
        const { name, object, property } = node.callee;
        const isSleep =
          (sleep !== undefined && name === sleep) ||
          (object?.name === "scheduler" && property.name === "wait") ||
          (name === "setTimeout" && isWholePromise(node));
        const message = "Wait by `until(condition, what)`: a sleep is too short or too long.";
        if (isSleep) context.report({ node, message });
      },
    };
  },
};

/** The call is all that a promise does: `new Promise((resolve) => setTimeout(resolve, 10))`. */
function isWholePromise({ parent }) {
  return parent.type === "ArrowFunctionExpression" && parent.parent.callee?.name === "Promise";
}

// oxlint-disable-next-line import/no-default-export -- this is how oxlint loads a plugin
export default {
  meta: { name: "edgerun" },
  rules: { layers, "no-open-tables": noOpenTables, "no-sleeps": noSleeps },
};
