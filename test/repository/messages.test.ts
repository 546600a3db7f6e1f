import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Expression, type Node, parseSync, Visitor } from "oxc-parser";
import { test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const ERROR_CLASS = /(?:Error|Failure|Fault|Refusal|Refused|Gone)$/;
const MESSAGE_MEMBER = /^(?:message|msg|detail|reason)$/;
/** A validation issue, which follows the path of its member. */
const PREDICATE = /^(?:must|may|is|are|has|does|leaves) /;
/** Pages of the API and of `--help` have snapshots of their own. */
const DOCUMENTATION_MEMBER = /^(?:description|summary|help|title)$/;

/**
 * Every sentence that a user may read. Other tests assert codes, states, names and numbers, so that a reworded
 * sentence changes this one file: `npm test -- --project repository test/repository/messages.test.ts -u`.
 */
test("the messages of the edge, the agent and the CLI are those of the golden file", async ({ expect }) => {
  const files = globSync("{src,node-agent,cli}/**/*.ts", {
    cwd: ROOT,
    exclude: (path) => path.endsWith(".test.ts"),
  });
  const sections = files.toSorted().flatMap((path) => {
    const messages = messagesOf(path, readFileSync(resolve(ROOT, path), "utf8"));
    return messages.length === 0 ? [] : [`## ${path}\n\n\`\`\`text\n${messages.join("\n")}\n\`\`\`\n`];
  });
  expect(sections.length).toBeGreaterThan(200);
  await expect(["# Messages\n", ...sections].join("\n")).toMatchFileSnapshot("messages.golden.md");
});

test("messages are found in errors, in named members and as sentences, and nowhere else", ({ expect }) => {
  const text = `
    throw new ServiceError("not_found", \`no job \${id} of \${endpoint}\`);
    throw found ? tooLarge("the body is large") : cause;
    const issue = { message: "Two " + "words", code: "a b", description: "Not a message." };
    return "It stands alone.";
    z.string("must be a name");
    const other = ["no message", \`\${a}: \${b}\`, "Word."];`;
  expect(messagesOf("a.ts", text)).toEqual([
    "no job {…} of {…}",
    "the body is large",
    "Two words",
    "It stands alone.",
    "must be a name",
  ]);
});

type Span = { readonly start: number; readonly end: number };

/** The messages of a file, in their order: whatever has two words in an error, and sentences elsewhere. */
function messagesOf(path: string, text: string): readonly string[] {
  const errors: Span[] = [];
  const members: Span[] = [];
  const documentation: Span[] = [];
  const joined: Span[] = [];
  const found: (Span & { readonly message: string })[] = [];
  const isWithin = (spans: readonly Span[], { start, end }: Span) =>
    spans.some((span) => span.start <= start && end <= span.end);
  const note = (node: Expression) => found.push({ start: node.start, end: node.end, message: written(node) });
  new Visitor({
    ThrowStatement: ({ argument }) => void errors.push(argument),
    NewExpression({ callee, start, end }) {
      if (callee.type === "Identifier" && ERROR_CLASS.test(callee.name)) errors.push({ start, end });
    },
    Property({ key, value }) {
      const name = key.type === "Identifier" ? key.name : "";
      if (MESSAGE_MEMBER.test(name)) members.push(value);
      if (DOCUMENTATION_MEMBER.test(name)) documentation.push(value);
    },
    BinaryExpression(node) {
      if (node.operator !== "+" || isWithin(joined, node)) return;
      joined.push(node);
      note(node);
    },
    Literal: (node) => void (isWithin(joined, node) || note(node)),
    TemplateLiteral: (node) => void (isWithin(joined, node) || note(node)),
  }).visit(parseSync(path, text).program);
  const messages = found.filter((literal) => {
    const { message } = literal;
    if (!/\p{L}\S* \S*\p{L}|\{…\}.* \p{L}{2}|\p{L}{2} .*\{…\}/u.test(message)) return false;
    if (isWithin(documentation, literal)) return false;
    if (isWithin(errors, literal) || PREDICATE.test(message)) return true;
    const [begins, ends] = [/^\p{Lu}/u.test(message), message.endsWith(".")];
    return isWithin(members, literal) ? begins || ends : (begins || message.startsWith("{…}")) && ends;
  });
  return messages.toSorted((a, b) => a.start - b.start).map(({ message }) => message.replaceAll("\n", "\\n"));
}

/** An expression as its reader sees it, with `{…}` for what is put in at run time. */
function written(node: Node): string {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : "{…}";
  if (node.type === "TemplateLiteral")
    return node.quasis.map(({ value }) => value.cooked ?? value.raw).join("{…}");
  if (node.type === "BinaryExpression" && node.operator === "+")
    return written(node.left) + written(node.right);
  return "{…}";
}
