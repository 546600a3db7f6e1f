/**
 * Which folder may import which. A file belongs to the longest of these folders that it lies in; imports within that
 * folder are free, and so are those of `src/std`. `type:` allows types alone, `load:` types and `import()`. Without
 * `type:` the table has no cycle. Imports of packages are restricted in .oxlintrc.json.
 */
import { dirname, join, relative, sep } from "node:path";

/** What every program may carry: wire formats, JSON, the link, tunnels, URL rules, catalogs of hardware. */
const SHARED = ["src/contract", "src/json", "src/link", "src/net", "src/tunnel", "src/catalog"];
/** Helpers that any file may import. */
const STANDARD = "src/std";
const PURE = [...SHARED, "src/domain"];
const OBJECTS = [
  "type:src/endpoint",
  "type:src/endpoint/batches",
  "type:src/forwarding",
  "type:src/pod",
  "type:src/host",
  "type:src/fleet",
];
/** What every feature of the Endpoint object uses; of the object itself the types of its messages and hooks. */
const FEATURE = [...PURE, "src/durable", "src/endpoint/facts", "src/endpoint/limits", "type:src/endpoint"];
const FEATURES = [
  "queue",
  "scaling",
  "streams",
  "webhooks",
  "batches",
  "metrics",
  "dispatch",
  "load-balancing",
];
const EDGE = [...PURE, "src/durable", "src/db", "src/auth", "type:src"];

const DAEMON_LEAVES = [
  "node-agent/core",
  "node-agent/host",
  "node-agent/disk",
  "node-agent/runtime/interface",
];
const RUNTIME_PARTS = [
  "node-agent/core",
  "node-agent/disk",
  "node-agent/runtime/interface",
  "node-agent/runtime/daemon",
];
const WORKER_PARTS = [
  "node-agent/core",
  "node-agent/journal",
  "type:node-agent/logs",
  "type:node-agent/pods",
  "type:node-agent/runtime/interface",
];
const HOST_TOOLS = [
  "node-agent/core",
  "node-agent/host",
  "node-agent/disk",
  "node-agent/gpu",
  "node-agent/edge",
  "node-agent/artifacts",
  "node-agent/runtime/interface",
  "node-agent/runtime/daemon",
  "node-agent/runtime/docker",
];

export const LAYERS = {
  "src/std": [],
  "src/json": [],
  "src/net": [],
  "src/tunnel": [],
  "src/catalog": [],
  "src/contract": ["src/json", "src/net", "src/catalog"],
  "src/link": ["src/contract", "src/json"],
  "src/domain": SHARED,
  "src/durable": PURE,
  "src/forwarding": [...PURE, "src/durable"],
  "src/pod": [...PURE, "src/durable", "src/forwarding"],
  "src/host": [...PURE, "src/durable", "src/forwarding"],
  "src/endpoint/facts": [...PURE, "src/durable"],
  "src/endpoint/limits": [...PURE, "type:src/endpoint"],
  "src/endpoint/queue": FEATURE,
  "src/endpoint/scaling": [...FEATURE, "src/endpoint/queue"],
  "src/endpoint/streams": [...FEATURE, "src/endpoint/queue"],
  "src/endpoint/webhooks": [...FEATURE, "src/endpoint/queue"],
  "src/endpoint/batches": [...FEATURE, "src/endpoint/queue"],
  "src/endpoint/metrics": [...FEATURE, "type:src/endpoint/queue", "type:src/endpoint/scaling"],
  "src/endpoint/dispatch": [
    ...FEATURE,
    "src/endpoint/queue",
    "type:src/endpoint/scaling",
    "type:src/endpoint/streams",
  ],
  "src/endpoint/load-balancing": [
    ...FEATURE,
    "src/forwarding",
    "src/endpoint/scaling",
    "type:src/endpoint/metrics",
  ],
  "src/endpoint": [
    ...FEATURE,
    "src/forwarding",
    ...FEATURES.map((name) => `src/endpoint/${name}`),
    "type:src/fleet",
  ],
  "src/fleet": [...PURE, "src/durable", "type:src/endpoint"],
  "src/db": PURE,
  "src/auth": [...PURE, "src/db", "type:src"],
  "src/management": [...EDGE, ...OBJECTS],
  "src/maintenance": [...EDGE, "src/management"],
  // D1 is read and written by management alone.
  "src/graphql": [...PURE, "src/durable", "src/auth", "type:src", "src/management", ...OBJECTS],
  "src/gateway": [...PURE, "src/durable", "src/auth", "type:src", "src/management", ...OBJECTS],
  src: [
    ...PURE,
    "src/endpoint",
    "src/fleet",
    "src/pod",
    "src/host",
    "src/graphql",
    "src/gateway",
    "src/maintenance",
    "type:src/auth",
  ],

  // edge client → journal ← worker → runtime; the rest are leaves below them, and the commands above.
  "node-agent/core": SHARED,
  "node-agent/host": [...SHARED, "node-agent/core"],
  "node-agent/disk": ["node-agent/core"],
  "node-agent/gpu": [...SHARED, "type:node-agent/disk"],
  "node-agent/telemetry": [...SHARED, "node-agent/host"],
  "node-agent/edge": [...SHARED, "node-agent/core"],
  "node-agent/artifacts": [
    ...SHARED,
    "node-agent/core",
    "node-agent/host",
    "node-agent/disk",
    "type:node-agent/edge",
  ],
  "node-agent/models": [...SHARED, "node-agent/core", "node-agent/disk"],
  "node-agent/journal": [...SHARED, "node-agent/core", "type:node-agent/disk"],
  "node-agent/exchange": [...SHARED, "node-agent/core", "node-agent/edge", "node-agent/journal"],
  "node-agent/link": [...SHARED, "node-agent/core", "type:node-agent/edge"],
  "node-agent/runtime/interface": [
    ...SHARED,
    "type:node-agent/artifacts",
    "type:node-agent/disk",
    "type:node-agent/models",
  ],
  "node-agent/runtime/daemon": [...SHARED, ...DAEMON_LEAVES],
  "node-agent/runtime/images": [...SHARED, ...RUNTIME_PARTS],
  "node-agent/runtime/network": [...SHARED, ...RUNTIME_PARTS],
  "node-agent/runtime/docker": [
    ...SHARED,
    ...RUNTIME_PARTS,
    "node-agent/host",
    "node-agent/gpu",
    "node-agent/artifacts",
    "node-agent/models",
    "node-agent/runtime/images",
    "node-agent/runtime/network",
  ],
  "node-agent/runtime/process": [
    ...SHARED,
    ...RUNTIME_PARTS,
    "node-agent/host",
    "node-agent/artifacts",
    "node-agent/models",
  ],
  "node-agent/runtime": [...RUNTIME_PARTS, "node-agent/runtime/docker", "node-agent/runtime/process"],
  "node-agent/logs": [
    ...SHARED,
    "node-agent/core",
    "node-agent/edge",
    "type:node-agent/journal",
    "type:node-agent/runtime/interface",
  ],
  "node-agent/pods": [
    ...SHARED,
    "node-agent/core",
    "type:node-agent/journal",
    "node-agent/runtime/interface",
  ],
  "node-agent/tunnel": [...SHARED, "node-agent/core", "node-agent/link", "type:node-agent/runtime/interface"],
  "node-agent/worker-server": [...SHARED, "node-agent/core", "type:node-agent/journal"],
  "node-agent/worker/lifecycle": [...SHARED, ...WORKER_PARTS],
  "node-agent/worker/queue": [
    ...SHARED,
    ...WORKER_PARTS,
    "node-agent/worker-server",
    "node-agent/worker/lifecycle",
  ],
  "node-agent/worker/load-balancing": [
    ...SHARED,
    ...WORKER_PARTS,
    "type:node-agent/link",
    "node-agent/worker-server",
    "node-agent/worker/lifecycle",
  ],
  "node-agent/worker/pod": [
    ...SHARED,
    ...WORKER_PARTS,
    "type:node-agent/link",
    "node-agent/worker-server",
    "node-agent/worker/lifecycle",
  ],
  "node-agent/worker": [
    ...SHARED,
    ...WORKER_PARTS,
    "type:node-agent/link",
    "type:node-agent/worker-server",
    "node-agent/worker/lifecycle",
    "node-agent/worker/queue",
    "node-agent/worker/load-balancing",
    "node-agent/worker/pod",
  ],
  "node-agent/doctor": [...SHARED, ...HOST_TOOLS],
  "node-agent/commands": [...SHARED, ...HOST_TOOLS, "node-agent/doctor", "node-agent/runtime"],
  "node-agent": [
    ...SHARED,
    ...HOST_TOOLS,
    "node-agent/commands",
    "node-agent/exchange",
    "node-agent/journal",
    "node-agent/link",
    "node-agent/logs",
    "node-agent/pods",
    "node-agent/runtime",
    "node-agent/runtime/network",
    "node-agent/telemetry",
    "node-agent/tunnel",
    "node-agent/worker",
    "node-agent/worker-server",
  ],
  standalone: SHARED,

  "cli/core": SHARED,
  "cli/terminal": ["cli/core"],
  "cli/service": [...SHARED, "cli/core"],
  "cli/configuration": [...SHARED, "cli/core", "cli/service", "cli/project"],
  "cli/tunnel": [...SHARED, "cli/core", "cli/terminal", "cli/service", "cli/configuration"],
  "cli/project": [...SHARED, "cli/core", "standalone"],
  "cli/discovery": [...SHARED, "cli/core"],
  "cli/manifest": [...SHARED, "cli/core", "cli/discovery"],
  "cli/requirements": [...SHARED, "cli/core", "cli/terminal", "cli/discovery", "cli/manifest"],
  "cli/build": [
    ...SHARED,
    "cli/core",
    "cli/terminal",
    "cli/project",
    "cli/discovery",
    "cli/manifest",
    "cli/requirements",
  ],
  "cli/server/requests": [...SHARED, "cli/core"],
  "cli/server/open-api": [...SHARED, "cli/manifest", "type:cli/server/requests"],
  "cli/server": [...SHARED, "cli/core", "cli/server/requests", "cli/server/open-api"],
  "cli/calls": [...SHARED, "cli/core", "cli/service", "cli/server/requests"],
  "cli/deploy": [
    ...SHARED,
    "cli/core",
    "cli/terminal",
    "cli/project",
    "cli/service",
    "cli/configuration",
    "cli/manifest",
    "cli/build",
    "cli/calls",
  ],
  "cli/account": [
    ...SHARED,
    "cli/core",
    "cli/terminal",
    "cli/service",
    "cli/configuration",
    "cli/calls",
    "cli/server/requests",
  ],
  "cli/releases": [...SHARED, "cli/core", "cli/terminal", "cli/service", "cli/deploy"],
  "cli/apps": ["cli/core", "cli/terminal", "cli/project", "cli/service", "cli/configuration", "cli/deploy"],
  // Secret references are read by the rules of the edge that fills them.
  "cli/migrate": [...PURE, "cli/core", "cli/service", "cli/configuration"],
  "cli/local": [
    ...SHARED,
    "cli/core",
    "cli/terminal",
    "cli/project",
    "cli/discovery",
    "cli/build",
    "standalone",
  ],
  "cli/dev/app": [
    ...SHARED,
    "cli/core",
    "cli/discovery",
    "cli/manifest",
    "cli/requirements",
    "cli/build",
    "type:cli/server/requests",
  ],
  "cli/dev/session": [
    ...SHARED,
    "cli/core",
    "cli/terminal",
    "cli/project",
    "cli/service",
    "cli/build",
    "cli/deploy",
    "type:cli/dev/app",
  ],
  "cli/dev/call": [
    ...SHARED,
    "cli/core",
    "cli/service",
    "cli/calls",
    "cli/server/requests",
    "type:cli/dev/app",
    "type:cli/dev/session",
  ],
  "cli/dev": [
    "cli/core",
    "cli/terminal",
    "cli/configuration",
    "cli/project",
    "cli/service",
    "cli/local",
    "cli/server",
    "cli/dev/app",
    "cli/dev/session",
    "cli/dev/call",
  ],
  // Secret references are read by the rules of the edge that fills them.
  "cli/preview": [
    ...PURE,
    "cli/core",
    "cli/terminal",
    "cli/configuration",
    "cli/project",
    "cli/service",
    "cli/calls",
    "cli/build",
    "cli/deploy",
    "cli/local",
    "cli/server",
    "cli/server/requests",
  ],
  // A command loads what it runs with import(), so that others start fast.
  "cli/commands": [
    ...SHARED,
    "cli/core",
    "cli/project",
    "load:cli/configuration",
    "load:cli/build",
    "load:cli/deploy",
    "load:cli/apps",
    "load:cli/account",
    "load:cli/releases",
    "load:cli/migrate",
    "load:cli/dev",
    "load:cli/preview",
    "load:cli/tunnel",
  ],
  cli: [...SHARED, "cli/core", "cli/terminal", "cli/commands"],

  console: SHARED,
};

const FOLDERS = Object.keys(LAYERS).toSorted((one, other) => other.length - one.length);

function layerOf(path) {
  return FOLDERS.find((folder) => path.startsWith(`${folder}/`));
}

/** The kinds of rows that allow an import, beside the one without a prefix. */
function kindsOf({ type, importKind, exportKind, specifiers = [] }) {
  if (type === "ImportExpression") return ["load:"];
  const isOfTypes =
    importKind === "type" ||
    exportKind === "type" ||
    (specifiers.length > 0 && specifiers.every((specifier) => specifier.importKind === "type"));
  return isOfTypes ? ["type:", "load:"] : [];
}

/** The folder of an import that its own folder may not make; undefined for any other. */
function forbidden(file, node) {
  const specifier = node.source?.value;
  const from = layerOf(file);
  if (typeof specifier !== "string" || !specifier.startsWith(".") || from === undefined) return undefined;
  const target = join(dirname(file), specifier).split(sep).join("/");
  const to = layerOf(target) ?? target.split("/")[0];
  if (to === from || to === STANDARD) return undefined;
  const isAllowed = ["", ...kindsOf(node)].some((kind) => LAYERS[from].includes(`${kind}${to}`));
  return isAllowed ? undefined : { from, to };
}

export const layers = {
  create(context) {
    const file = relative(process.cwd(), context.filename).split(sep).join("/");
    const check = (node) => {
      const edge = forbidden(file, node);
      if (!edge) return;
      const message = `${edge.from} does not import ${edge.to}: see scripts/lint/layers.mjs.`;
      context.report({ node: node.source, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};
