/**
 * Who reaches D1: `src/db` holds its statements, and the folders below open it, by `openDatabase(env.DB)` alone.
 * Everything else calls `src/management`.
 */
import { relative, sep } from "node:path";

const STATEMENTS = /^src\/db\//;
const CALLERS = /^src\/(?:auth|management|maintenance)\//;
const DRIZZLE = /^drizzle-orm(?:\/|$)/;

export const databaseAccess = {
  create(context) {
    const file = relative(process.cwd(), context.filename).split(sep).join("/");
    if (!file.startsWith("src/") || STATEMENTS.test(file)) return {};
    const checkImport = ({ source }) => {
      if (!DRIZZLE.test(source?.value)) return;
      context.report({ node: source, message: "Statements for D1 are in src/db." });
    };
    const checkBinding = (node, isOpened) => {
      if (isOpened && CALLERS.test(file)) return;
      context.report({ node, message: "D1 is opened by `openDatabase(env.DB)`, in src/management." });
    };
    return {
      ImportDeclaration: checkImport,
      ImportExpression: checkImport,
      ExportNamedDeclaration: checkImport,
      ExportAllDeclaration: checkImport,
      MemberExpression(node) {
        if (nameOf(node.property) === "DB") checkBinding(node, node.parent.callee?.name === "openDatabase");
      },
      ObjectPattern({ properties }) {
        for (const { key } of properties) if (nameOf(key) === "DB") checkBinding(key, false);
      },
    };
  },
};

/** `DB` of `env.DB`, `env["DB"]`, `{ DB }` and `{ "DB": db }`. */
function nameOf(key) {
  return key?.name ?? key?.value;
}
