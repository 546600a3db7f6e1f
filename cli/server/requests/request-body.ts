/** The body of a request; that of a job is checked and cut, and never parsed and written again. */
import { type JobJson, NO_JOB } from "./served-app.ts";
import { RequestError } from "./responses.ts";
import { ByteBuffer } from "../../../src/json/byte-buffer.ts";
import { JsonCarver } from "../../../src/json/json-carver.ts";
import { membersOf, objectOf, withMember } from "../../../src/json/json-members.ts";
import { cutsAt } from "../../../src/json/raw-json.ts";
import { JsonDepthError, JsonRepeatError, JsonSyntaxError } from "../../../src/json/json-tokens.ts";

/** Reads the body; undefined where it is empty. Throws a RequestError where it is too large. */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  // Checked before a byte is read.
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return undefined;
  const pieces: Uint8Array[] = [];
  let readBytes = 0;
  for await (const piece of request.body) {
    readBytes += piece.byteLength;
    if (readBytes > maxBytes) throw tooLarge(maxBytes);
    pieces.push(piece);
  }
  return readBytes === 0 ? undefined : Buffer.concat(pieces);
}

/** The same request with its body read, so that the caller does not have to wait for a worker to send it. */
export async function wholeRequest(request: Request, maxBytes: number): Promise<Request> {
  const body = await readBody(request, maxBytes);
  const { method, headers, signal, url } = request;
  return new Request(url, { method, headers, signal, ...(body !== undefined && { body }) });
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError(413, `The body is larger than ${maxBytes / 1_000_000} MB, which is the limit.`);
}

const INPUT = "input";
const INPUTS = cutsAt([INPUT]);
/** Some programs prefix JSON with a byte order mark. */
const BYTE_ORDER_MARK = Buffer.from("\uFEFF");

/** Cuts a body. Throws a RequestError that names what is invalid. */
export function readJob(body: Buffer | undefined): JobJson {
  const bytes = body?.subarray(
    body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0,
  );
  if (bytes === undefined || bytes.every(isSpace)) return NO_JOB;
  const { rest, input } = cut(bytes);
  const members = membersOf(rest);
  if (members === undefined) throw invalidBody(["body"], "Input should be a JSON object", "dict_type");
  return { input, options: objectOf(members.filter(({ name }) => name !== INPUT)) };
}

/** The body again, without whitespace around its members. */
export function jobBody({ input, options }: JobJson): string {
  return input === undefined ? options : withMember(options, INPUT, input);
}

/** Separates the input from the rest of the body. */
function cut(bytes: Buffer): { readonly rest: string; readonly input: string | undefined } {
  try {
    const carver = new JsonCarver(INPUTS);
    const pieces = carver.scan(bytes);
    carver.end();
    const rest = new ByteBuffer();
    let input: string | undefined;
    for (const { carved, from, to } of pieces) {
      if (carved === null) rest.add(bytes, from, to);
      else {
        rest.addNumber(carved);
        input = bytes.toString("utf8", from, to);
      }
    }
    return { rest: rest.text(), input };
  } catch (error) {
    if (error instanceof JsonDepthError)
      throw new RequestError(
        400,
        `The body is nested deeper than ${error.depthMax} levels, which is the limit.`,
      );
    if (error instanceof JsonRepeatError)
      throw invalidBody(["body", error.member], "The body has this member twice. Send it once.", "duplicate");
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw invalidBody(["body"], `The body is not valid JSON: ${error.message}`, "json_invalid");
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function invalidBody(loc: readonly string[], msg: string, type: string): RequestError {
  return new RequestError(422, [{ loc, msg, type }]);
}
