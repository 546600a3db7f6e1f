/**
 * An image registry with one image, speaking the registry protocol that Docker pulls with: a small one of two
 * layers, or one that Docker has.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { createWriteStream } from "node:fs";
import Docker from "dockerode";
import { withScratchFolder } from "../../scripts/images/image-import.ts";

const MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_TYPE = "application/vnd.docker.container.image.v1+json";
const LAYER_TYPE = "application/vnd.docker.image.rootfs.diff.tar.gzip";
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const TAR_BLOCK_BYTES = 512;

type Asked = "manifests" | "blobs";
type Login = { readonly username: string; readonly password: string };
/** Configuration and layers of an image, as bytes. */
type ImageContent = { readonly config: Buffer; readonly layers: readonly Buffer[] };
type Blob = { readonly digest: string; readonly bytes: Buffer };

export class ImageRegistry {
  readonly #server: Server;
  readonly #port: number;
  readonly #authorization: string | null;
  readonly #blobs = new Map<string, Buffer>();
  #manifest: Blob;
  readonly #digestByTag = new Map<string, string>();
  #gate: { readonly of: Asked; readonly opens: Promise<void> } | null = null;
  readonly #watchers = new Set<() => void>();
  /** Answers begun so far, by what was asked for. */
  readonly asked: Record<Asked, number> = { manifests: 0, blobs: 0 };
  /** Requests of any kind so far. */
  requests = 0;
  #unknown = "manifest unknown";
  /** Answers that have begun and got no further. */
  openAnswers = 0;

  private constructor(server: Server, login: Login | null, content: ImageContent) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.#authorization =
      login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
    this.#manifest = this.#addImage(content);
    server.on("request", (request, reply) => this.#answer(request, reply));
  }

  static async open(login: Login | null = null, content = smallImage()): Promise<ImageRegistry> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ImageRegistry(server, login, content);
  }

  /** A registry that serves an image of this machine under the name `team/model:1`. */
  static async openWith(image: string, login: Login | null): Promise<ImageRegistry> {
    return ImageRegistry.open(login, await savedImage(image));
  }

  /** A registry whose image is for another processor. */
  static async openFor(architecture: string): Promise<ImageRegistry> {
    return ImageRegistry.open(null, smallImage(architecture));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Name of an image as Docker has to be told it; only `team/model:1` exists, and what `tags` has added. */
  image(name: string): string {
    return `127.0.0.1:${this.#port}/${name}`;
  }

  /** Name of the image by its content. */
  pinned(): string {
    return this.image(`team/model@${this.#manifest.digest}`);
  }

  /** What the tag means at this moment. */
  get digest(): string {
    return this.#manifest.digest;
  }

  /** Adds images under these tags, each with content of its own; their names. */
  tags(...tags: string[]): string[] {
    return tags.map((tag) => {
      this.#digestByTag.set(tag, this.#addImage(smallImage()).digest);
      return this.image(`team/model:${tag}`);
    });
  }

  /** From here on this is the message of answers about images that do not exist. */
  says(message: string): void {
    this.#unknown = message;
  }

  /** From here on the tag means another image. */
  moveTag(content = smallImage()): void {
    this.#manifest = this.#addImage(content);
  }

  /** From here on answers of one kind begin and get no further, until the returned function is called. */
  stall(of: Asked): () => void {
    const gate = Promise.withResolvers<void>();
    this.#gate = { of, opens: gate.promise };
    return () => {
      this.#gate = null;
      gate.resolve();
    };
  }

  /** New responses are complete again; responses that have begun stay stuck. */
  restore(): void {
    this.#gate = null;
  }

  blobsAsked(count: number): Promise<void> {
    return this.#until(() => this.asked.blobs >= count);
  }

  answersClosed(): Promise<void> {
    return this.#until(() => this.openAnswers === 0);
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#watchers.add(resolve));
  }

  #changed(): void {
    for (const resume of this.#watchers) resume();
    this.#watchers.clear();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #addImage({ config, layers }: ImageContent): Blob {
    const describe = (mediaType: string, { digest, bytes }: Blob): object => ({
      mediaType,
      digest,
      size: bytes.length,
    });
    return this.#add(
      json({
        schemaVersion: 2,
        mediaType: MANIFEST_TYPE,
        config: describe(CONFIG_TYPE, this.#add(config)),
        layers: layers.map((layer) => describe(LAYER_TYPE, this.#add(layer))),
      }),
    );
  }

  #add(bytes: Buffer): Blob {
    const digest = digestOf(bytes);
    this.#blobs.set(digest, bytes);
    return { digest, bytes };
  }

  #answer(request: IncomingMessage, reply: ServerResponse): void {
    this.requests += 1;
    const { pathname } = new URL(request.url ?? "/", "http://registry");
    if (this.#authorization !== null && request.headers.authorization !== this.#authorization) {
      reply.setHeader("www-authenticate", 'Basic realm="test"');
      return refuse(reply, 401, "UNAUTHORIZED", "authentication required");
    }
    if (pathname === "/v2/") return void reply.end("{}");
    const [, kind, reference = ""] = /^\/v2\/team\/model\/(manifests|blobs)\/(.+)$/.exec(pathname) ?? [];
    const digest = reference === "1" ? this.#manifest.digest : this.#digestByTag.get(reference);
    const bytes = this.#blobs.get(digest ?? reference);
    if (bytes === undefined) return refuse(reply, 404, "MANIFEST_UNKNOWN", this.#unknown);
    reply.setHeader("content-type", kind === "manifests" ? MANIFEST_TYPE : "application/octet-stream");
    reply.setHeader("docker-content-digest", digestOf(bytes));
    reply.setHeader("content-length", bytes.length);
    const content = request.method === "HEAD" ? Buffer.alloc(0) : bytes;
    this.#send(reply, kind === "manifests" ? "manifests" : "blobs", content);
  }

  #send(reply: ServerResponse, asked: Asked, content: Buffer): void {
    this.asked[asked] += 1;
    this.#changed();
    if (this.#gate?.of !== asked) return void reply.end(content);
    const half = Math.floor(content.length / 2);
    if (half > 0) reply.write(content.subarray(0, half));
    this.openAnswers += 1;
    reply.once("close", () => {
      this.openAnswers -= 1;
      this.#changed();
    });
    void this.#gate.opens.then(() => reply.end(content.subarray(half)));
  }
}

/** An image of two layers that no other registry has. */
export function smallImage(architecture = ARCHITECTURES[process.arch] ?? process.arch): ImageContent {
  // Content of its own for each registry, so that no layer is on the machine already.
  const archives = ["one", "two"].map((name) => tarOf(`${name}.txt`, `${name} ${Math.random()}\n`));
  const config = json({
    architecture,
    os: "linux",
    config: {},
    rootfs: { type: "layers", diff_ids: archives.map(digestOf) },
  });
  return { config, layers: archives.map((archive) => gzipSync(archive)) };
}

async function savedImage(image: string): Promise<ImageContent> {
  const content: { config?: Buffer; layers: Buffer[] } = { layers: [] };
  await withScratchFolder(async (folder) => {
    const archive = join(folder, "image.tar");
    await pipeline(await new Docker().getImage(image).get(), createWriteStream(archive));
    await promisify(execFile)("tar", ["-xf", archive, "-C", folder]);
    const [listed] = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
    content.config = await readFile(join(folder, listed.Config));
    for (const layer of listed.Layers) {
      content.layers.push(gzipSync(await readFile(join(folder, layer)), { level: 1 }));
    }
  });
  const { config = Buffer.alloc(0), layers } = content;
  return { config, layers };
}

function refuse(reply: ServerResponse, status: number, code: string, message: string): void {
  reply.writeHead(status, { "content-type": "application/json" });
  reply.end(JSON.stringify({ errors: [{ code, message }] }));
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** A tar archive with one small file. */
function tarOf(name: string, text: string): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(Buffer.byteLength(text), 11), 124);
  header.write(octal(0, 11), 136);
  header.write(" ".repeat(8), 148); // the checksum counts itself as blanks
  header.write("0", 156);
  header.write("ustar\0" + "00", 257);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${octal(checksum, 6)} `, 148);
  const content = Buffer.alloc(TAR_BLOCK_BYTES);
  content.write(text);
  return Buffer.concat([header, content, Buffer.alloc(2 * TAR_BLOCK_BYTES)]);
}
