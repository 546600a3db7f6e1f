/**
 * A test waits by `until(condition, what)`, which has a deadline and says what did not happen: no test sleeps, and none
 * has a polling loop of its own. A sleep is a call of `node:timers/promises` or of `scheduler.wait`, or a promise that
 * nothing but a timer resolves. Modules with timers are imported by names, so that their calls are seen.
 */
const MESSAGE = "Wait by `until(condition, what)`: a sleep is too short or too long.";
const BY_NAME = "Import timers by their names, so that sleeps are seen.";
const MODULE = /^(?:node:)?timers(?<promises>\/promises)?$/;
const TIMERS = new Set(["setTimeout", "setInterval"]);
const GLOBALS = new Set(["globalThis", "global", "self", "window"]);

export const noSleeps = {
  create(context) {
    const timers = new Set(["setTimeout"]);
    const sleeps = new Set();
    const schedulers = new Set(["scheduler"]);

    const isTimer = (node) =>
      timers.has(node.name) || (GLOBALS.has(node.object?.name) && nameOf(node.property) === "setTimeout");
    const isScheduler = (node) =>
      schedulers.has(node?.name) ||
      (GLOBALS.has(node?.object?.name) && nameOf(node.property) === "scheduler");
    const isInTimer = (node) =>
      node !== null && ((node.type === "CallExpression" && isTimer(node.callee)) || isInTimer(node.parent));
    const report = (node, message = MESSAGE) => context.report({ node, message });

    return {
      ImportDeclaration({ source, specifiers }) {
        const module = MODULE.exec(source.value);
        if (!module) return;
        for (const { imported, local } of specifiers) {
          const name = nameOf(imported);
          if (name === undefined || name === "default" || name === "promises") report(local, BY_NAME);
          if (name === "scheduler") schedulers.add(local.name);
          if (TIMERS.has(name)) (module.groups.promises ? sleeps : timers).add(local.name);
        }
      },
      ImportExpression({ source }) {
        if (MODULE.test(source.value)) report(source, BY_NAME);
      },
      CallExpression(node) {
        const { callee, arguments: given } = node;
        const isWait = isScheduler(callee.object) && nameOf(callee.property) === "wait";
        const isPromisified = nameOf(callee.property ?? callee) === "promisify" && given.some(isTimer);
        if (sleeps.has(callee.name) || isWait || isPromisified) report(node);
      },
      "NewExpression, VariableDeclarator"(node) {
        const uses = resolverUses(node, context.sourceCode);
        if (uses.length > 0 && uses.every(isInTimer)) report(node);
      },
    };
  },
};

/** Where the code resolves a promise that the node makes by `new Promise(…)` or `Promise.withResolvers()`. */
function resolverUses(node, sourceCode) {
  if (node.type === "NewExpression") {
    const [executor] = node.arguments;
    const isPromise = node.callee.name === "Promise" && executor?.params?.[0]?.type === "Identifier";
    return isPromise ? usesOf(executor, executor.params[0].name, sourceCode) : [];
  }
  const { id, init } = node;
  const { object, property } = init?.callee ?? {};
  if (object?.name !== "Promise" || nameOf(property) !== "withResolvers") return [];
  if (id.type === "Identifier") {
    const members = usesOf(node, id.name, sourceCode).map(({ parent }) => parent);
    return members.filter((member) => nameOf(member.property) === "resolve");
  }
  const resolver = id.properties.find(({ key }) => nameOf(key) === "resolve");
  return resolver ? usesOf(node, resolver.value.name, sourceCode) : [];
}

function usesOf(declaration, name, sourceCode) {
  const variable = sourceCode.getDeclaredVariables(declaration).find((declared) => declared.name === name);
  return variable.references.filter((use) => !use.init).map((use) => use.identifier);
}

/** The name of an identifier, or of a key in quotes. */
function nameOf(key) {
  return key?.name ?? key?.value;
}
