/** An app behind the local server whose calls do what a test says. */
import type { ManifestParameter, ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../../../cli/core/cli.ts";
import type {
  CallLine,
  CallLog,
  EndpointCalls,
  QueueCall,
  ServedApp,
  ServedEndpoint,
} from "../../../cli/server/requests/served-app.ts";
import {
  type LocalServer,
  type LocalServerSettings,
  startLocalServer,
} from "../../../cli/server/local-server.ts";
import { jobBody } from "../../../cli/server/requests/request-body.ts";
import { ConsoleTerminal } from "../../../cli/terminal/console-terminal.ts";
import { PassThrough } from "node:stream";

export function parameter(name: string, more: Partial<ManifestParameter> = {}): ManifestParameter {
  return { name, kind: "positional", annotation: null, isRequired: true, ...more };
}

export function queueEndpoint(
  name: string,
  parameters: readonly ManifestParameter[],
  more: Partial<ServedEndpoint> = {},
): ServedEndpoint {
  const functions = [{ name, module: name, description: `What ${name} does.`, parameters: [...parameters] }];
  return { name, resource: { is_load_balanced: false, functions }, ...more };
}

export type ScriptedRoute = {
  readonly route: string;
  readonly parameters?: readonly ManifestParameter[];
  readonly description?: string;
};

export function routedEndpoint(
  name: string,
  routes: readonly ScriptedRoute[],
  more: Partial<ServedEndpoint> = {},
): ServedEndpoint {
  const functions = routes.map(({ route, parameters = [], description }, index) => {
    const [http_method, http_path] = route.split(" ");
    return {
      name: `route_${index}`,
      module: name,
      http_method,
      http_path,
      description: description ?? `Answers ${route}.`,
      parameters: [...parameters],
    };
  });
  const resource: ManifestResource = { is_load_balanced: true, functions };
  return { name, resource, ...more };
}

/** What was said of calls, one text for each. */
export class RecordedLog implements CallLog {
  readonly lines: string[] = [];

  between(show: () => void): void {
    show();
  }

  begin({ method, path }: { readonly method: string; readonly path: string }): CallLine {
    const say = (text: string): void => void this.lines.push(`${method} ${path} ${text}`);
    say("begins");
    return {
      waiting: (reason) => say(`waits: ${reason}`),
      running: ({ id }) => say(`runs on ${id}`),
      printed: (line) => say(`prints ${line}`),
      awaitLog: () => () => {},
      done: () => say("is done"),
      fail: (reason, detail) => say(`fails: ${reason}${detail ? ` (${detail})` : ""}`),
    };
  }
}

export type Answers = {
  readonly queue?: (
    endpoint: ServedEndpoint,
    call: QueueCall,
    line: CallLine,
  ) => Response | Promise<Response>;
  readonly route?: (
    endpoint: ServedEndpoint,
    request: Request,
    path: string,
    line: CallLine,
  ) => Response | Promise<Response>;
  /** Where it is left out, no service is behind the server. */
  readonly openai?: NonNullable<EndpointCalls["openai"]>;
};

/** A local server on a free port, and what was said meanwhile. */
export type Served = {
  readonly server: LocalServer;
  readonly log: RecordedLog;
  /** What the person has read. */
  readonly screen: () => string;
  /** Sends JSON, and reads it. */
  readonly call: (method: string, path: string, body?: unknown, init?: RequestInit) => Promise<Answered>;
  [Symbol.asyncDispose](): Promise<void>;
};

export type Answered = { readonly status: number; readonly headers: Headers; readonly body: unknown };

export async function serve(
  endpoints: readonly ServedEndpoint[] | (() => readonly ServedEndpoint[]),
  answers: Answers = {},
  {
    host = "localhost",
    port = 0,
    problems = [],
  }: Partial<Pick<LocalServerSettings, "host" | "port">> & Pick<ServedApp, "problems"> = {},
): Promise<Served> {
  const app: ServedApp = {
    name: "demo",
    endpoints: async () => (typeof endpoints === "function" ? endpoints() : endpoints),
    problems,
  };
  const calls: EndpointCalls = {
    queue: async (endpoint, call, line) =>
      (await answers.queue?.(endpoint, call, line)) ??
      Response.json({ endpoint: endpoint.name, ...told(call) }),
    route: async (endpoint, request, path, line) =>
      (await answers.route?.(endpoint, request, path, line)) ??
      Response.json({ endpoint: endpoint.name, method: request.method, path, body: await request.text() }),
    ...(answers.openai && { openai: answers.openai }),
  };
  const log = new RecordedLog();
  const { cli, screen } = quietCli();
  const server = await startLocalServer(cli, { app, calls, log, host, port });
  return {
    server,
    log,
    screen,
    call: async (method, path, body, init = {}) => {
      const json = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(server.url + path, { method, ...json, ...init });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === "" ? undefined : parsed(text),
      };
    },
    [Symbol.asyncDispose]: async () => await server.close(),
  };
}

export type Screened = {
  readonly cli: Cli;
  readonly screen: () => string;
  readonly logged: string[];
  readonly interrupt: () => void;
};

/** A command that writes to nobody's terminal, or as if to a person's. */
export function quietCli({ isTerminal = false } = {}): Screened {
  const output = Object.assign(new PassThrough(), { isTTY: isTerminal, columns: 100 });
  const pieces: string[] = [];
  const logged: string[] = [];
  output.on("data", (piece: Buffer) => pieces.push(piece.toString()));
  const interruption = new AbortController();
  const { signal } = interruption;
  const terminal = new ConsoleTerminal({
    streams: { input: new PassThrough(), output, errors: output },
    environment: { NO_COLOR: "1" },
    signal,
    redact: (text) => text,
    log: (line) => logged.push(line),
  });
  return {
    cli: { directory: "/", environment: {}, terminal, signal },
    screen: () => pieces.join(""),
    logged,
    interrupt: () => interruption.abort(),
  };
}

function told({ signal: _, job, ...call }: QueueCall): object {
  return { ...call, ...(job && { body: JSON.parse(jobBody(job)) }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
