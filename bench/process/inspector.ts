/** Where a process with V8 spends its time, as its inspector tells it. */
import { readFileSync } from "node:fs";
import { type SourceMapPayload, SourceMap } from "node:module";
import WebSocket from "ws";

const SAMPLE_EVERY_US = 500;

type Reply = { readonly id?: number; readonly result?: unknown };
type ProfileNode = {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
};
type Profile = {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** Share of the sampled time that a function had for itself, and where it stands. */
export type FunctionShare = { readonly name: string; readonly where: string; readonly share: number };

/** Profiles while `act` goes on; the largest share first. Of a bundle, the source map says what a function was. */
export async function profiled(
  url: string,
  act: () => Promise<unknown>,
  sourceMapPath?: string,
): Promise<readonly FunctionShare[]> {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 0 });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const asked = new Map<number, (result: unknown) => void>();
  socket.on("message", (data: Buffer) => {
    const { id = 0, result } = JSON.parse(String(data)) as Reply;
    asked.get(id)?.(result);
  });
  const ask = (method: string, params = {}): Promise<unknown> =>
    new Promise((resolve) => {
      const id = asked.size + 1;
      asked.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
  // The Workers runtime answers when its script runs, so nobody waits for these.
  const prepared = [
    ask("Profiler.enable"),
    ask("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US }),
    ask("Profiler.start"),
  ];
  await act();
  const stopped = ask("Profiler.stop") as Promise<{ profile: Profile }>;
  await act();
  await Promise.all(prepared);
  const { profile } = await stopped;
  socket.close();
  return sharesOf(profile, sourceMapPath === undefined ? undefined : readSourceMap(sourceMapPath));
}

/** The inspector of a process of Node. */
export async function nodeInspector(port: number): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await reply.json()) as readonly { readonly webSocketDebuggerUrl: string }[];
  if (!target) throw new Error(`No inspector answers on port ${port}.`);
  return target.webSocketDebuggerUrl;
}

function readSourceMap(path: string): SourceMap {
  return new SourceMap(JSON.parse(readFileSync(path, "utf8")) as SourceMapPayload);
}

function sharesOf({ nodes, samples, timeDeltas }: Profile, map?: SourceMap): readonly FunctionShare[] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map<string, FunctionShare>();
  let all = 0;
  for (const [at, sample] of samples.entries()) {
    const frame = frames.get(sample);
    const time = timeDeltas[at] ?? 0;
    if (!frame || frame.functionName === "(idle)") continue;
    all += time;
    const where = whereOf(frame, map);
    const key = `${frame.functionName} ${where}`;
    times.set(key, { name: frame.functionName, where, share: (times.get(key)?.share ?? 0) + time });
  }
  const shares = [...times.values()].map(({ share, ...rest }) => ({ ...rest, share: share / all }));
  return shares.toSorted((a, b) => b.share - a.share);
}

function whereOf({ url, lineNumber, columnNumber }: ProfileNode["callFrame"], map?: SourceMap): string {
  if (url === "") return "";
  const entry = map?.findEntry(lineNumber, columnNumber);
  const source = entry && "originalSource" in entry ? entry : undefined;
  const path = source?.originalSource ?? url;
  return `${path.split("/").slice(-3).join("/")}:${(source?.originalLine ?? lineNumber) + 1}`;
}
