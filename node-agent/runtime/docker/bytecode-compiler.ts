/**
 * Python's bytecode of apps, which saves each start of a worker the compilation of all that it imports.
 *
 * K1  It is made once for a build and an image, after a worker of both has started, with time that no worker wants.
 * K2  It is made in a container of the image that has the app's files and nothing else: no network, no variables, no
 *     secrets, no job. What a worker has been sent cannot get into the bytecode of the next one.
 * K3  A failure delays and breaks nothing; workers compile by themselves then. It is not tried again by this process.
 */
import type Dockerode from "dockerode";
import { createWriteStream } from "node:fs";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { APP_DIRECTORY, type Artifact } from "../../../src/contract/agent/artifact.ts";
import { errorMessage, ignoreFailure } from "../../../src/std/errors.ts";
import { KeyedMutex } from "../../../src/std/keyed-mutex.ts";
import type { BytecodeWriter } from "../../artifacts/artifact-directory.ts";
import type { ArtifactStore } from "../../artifacts/artifact-store.ts";
import { type AgentLog, SILENT_LOG } from "../../core/log.ts";
import { bytecodeContainer } from "./container-options.ts";
import { lastLinesOf } from "../interface/output.ts";
import { OutputFrames } from "./output-frames.ts";

/** The first worker imports its modules in this time, and has the processor for itself. */
const AFTER_MS = 10_000;
/** Half a million modules take less. */
const LIMIT_MS = 30 * 60_000;
/** Bytecode is about as large as its source. */
const ARCHIVE_MAX_BYTES = 2_000_000_000;
/** Pieces of error output, and their characters, that may be in a log. */
const ERRORS_MAX = 1_000;
/** Pairs of builds and images that this process remembers. */
const KNOWN_MAX = 10_000;

/** Prints a gzipped tar archive with the bytecode of all modules, each at its place beside its module. */
const PROGRAM = `
import gzip, importlib.util, os, py_compile, sys, tarfile, warnings
os.nice(19)
warnings.simplefilter("ignore")
root, compiled = "${APP_DIRECTORY}", "/tmp/module.pyc"
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
packed = gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", compresslevel=1)
with packed, tarfile.open(fileobj=packed, mode="w|") as archive:
    for folder, folders, names in os.walk(root):
        for name in names:
            source = os.path.join(folder, name)
            if not name.endswith(".py"):
                continue
            try:
                py_compile.compile(source, cfile=compiled, doraise=True, invalidation_mode=mode)
            except Exception:
                continue
            place = os.path.relpath(importlib.util.cache_from_source(source), root)
            archive.add(compiled, arcname=place, recursive=False)
`;

export type BytecodeCompilerOptions = {
  /** For short calls, and for streams without a time limit. */
  readonly docker: Dockerode;
  readonly streams: Dockerode;
  readonly hostId: string;
  readonly artifacts: ArtifactStore;
  readonly log?: AgentLog | undefined;
  readonly afterMs?: number | undefined;
};

export class BytecodeCompiler {
  readonly #options: BytecodeCompilerOptions;
  readonly #log: AgentLog;
  readonly #known = new Set<string>();
  readonly #abort = new AbortController();
  /** One container at a time. */
  readonly #mutex = new KeyedMutex();

  constructor(options: BytecodeCompilerOptions) {
    this.#options = options;
    this.#log = options.log ?? SILENT_LOG;
  }

  /** A worker of an image starts with the files of a build. Never throws. */
  workerCreated(artifact: Artifact, imageId: string): void {
    const key = `${artifact.sha256} ${imageId}`;
    if (this.#known.has(key) || this.#known.size >= KNOWN_MAX) return;
    this.#known.add(key);
    this.#compileSoon(artifact, imageId).catch((error: unknown) => {
      if (this.#abort.signal.aborted) return;
      this.#log.info("bytecode_failed", { sha256: artifact.sha256, imageId, error: errorMessage(error) });
    });
  }

  stop(): void {
    this.#abort.abort();
  }

  async #compileSoon(artifact: Artifact, imageId: string): Promise<void> {
    const { signal } = this.#abort;
    await delay(this.#options.afterMs ?? AFTER_MS, undefined, { signal, ref: false });
    await this.#mutex.run("", () => this.#compile(artifact, imageId));
  }

  async #compile(artifact: Artifact, imageId: string): Promise<void> {
    const { artifacts } = this.#options;
    if (!(await artifacts.takesBytecode(artifact, imageId))) return;
    const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(LIMIT_MS)]);
    const beganAt = performance.now();
    const write: BytecodeWriter = async (path, appPath) => {
      const { hostId } = this.#options;
      const request = { hostId, imageId, sha256: artifact.sha256, appPath, program: PROGRAM };
      await this.#runContainer(bytecodeContainer(request), path, signal);
    };
    await artifacts.addBytecode(artifact, imageId, write, signal);
    const durationMs = Math.round(performance.now() - beganAt);
    this.#log.info("bytecode_stored", { sha256: artifact.sha256, imageId, durationMs });
  }

  /** Writes what its program prints to a file. */
  async #runContainer(
    request: Dockerode.ContainerCreateOptions,
    path: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { docker, streams } = this.#options;
    const { id } = await docker.createContainer(request);
    const container = streams.getContainer(id);
    try {
      const errors: string[] = [];
      const output = await container.attach({ stream: true, stdout: true, stderr: true });
      const exit = container.wait({ condition: "next-exit", abortSignal: signal });
      exit.catch(ignoreFailure); // it is awaited below, unless the output fails first
      await docker.getContainer(id).start();
      await pipeline(output, outputOf(errors), createWriteStream(path), { signal });
      const { StatusCode: code } = await exit;
      if (code !== 0) throw new Error(`exit code ${code}: ${lastLinesOf(errors.join(""), 1).join("")}`);
    } finally {
      await docker.getContainer(id).remove({ force: true, v: true }).catch(ignoreFailure); // Docker may be doing so
    }
  }
}

/** What a container prints to its output, without Docker's frames; `errors` gets the beginning of the rest. */
function outputOf(errors: string[]): Transform {
  let bytes = 0;
  const frames = new OutputFrames((name, piece) => {
    if (name === "stderr") {
      if (errors.length < ERRORS_MAX) errors.push(Buffer.from(piece).toString().slice(0, ERRORS_MAX));
      return;
    }
    bytes += piece.byteLength;
    if (bytes > ARCHIVE_MAX_BYTES) stage.destroy(new Error("the bytecode is too large"));
    else stage.push(piece);
  });
  const stage: Transform = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      frames.take(chunk);
      done();
    },
  });
  return stage;
}
