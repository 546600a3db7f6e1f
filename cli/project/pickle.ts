/**
 * Python's pickle format, protocol 2, of plain values only. A pickle is a program: the reader knows the instructions
 * that make dictionaries, lists, strings, integers, booleans and None, and rejects all others.
 */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

/** The start of a collection's items on the stack of the reader. */
const MARK = Symbol("mark");

export function writePickle(value: Plain): Buffer {
  return Buffer.concat([Buffer.from([0x80, 2]), ...encode(value), Buffer.from(".")]);
}

function encode(value: Plain): Buffer[] {
  if (value === null) return [Buffer.from("N")];
  if (typeof value === "boolean") return [Buffer.from([value ? 0x88 : 0x89])];
  if (typeof value === "number") return [Buffer.from("J"), int32(value)];
  if (typeof value === "string")
    return [Buffer.from("X"), int32(Buffer.byteLength(value)), Buffer.from(value)];
  if (value instanceof Array) return [Buffer.from("]("), ...value.flatMap(encode), Buffer.from("e")];
  return [Buffer.from("}("), ...Object.entries(value).flat().flatMap(encode), Buffer.from("u")];
}

/** Throws where it has more than 32 bits or a fraction. */
function int32(value: number): Buffer {
  if (!Number.isInteger(value)) throw new RangeError(`${value} is no integer`);
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** Throws an Error that names the unexpected instruction when the bytes contain anything but plain values. */
export function readPickle(bytes: Buffer): unknown {
  return new PickleReader(bytes).read();
}

class PickleReader {
  readonly #bytes: Buffer;
  readonly #stack: unknown[] = [];
  readonly #memo = new Map<number, unknown>();
  #at = 0;

  readonly #instructions: ReadonlyMap<number, () => void> = new Map([
    [0x80, () => this.#checkProtocol(this.#uint8())],
    [code("("), () => this.#stack.push(MARK)],
    [code("N"), () => this.#stack.push(null)],
    [0x88, () => this.#stack.push(true)],
    [0x89, () => this.#stack.push(false)],
    [code("J"), () => this.#stack.push(this.#take(4).readInt32LE())],
    [code("K"), () => this.#stack.push(this.#uint8())],
    [code("M"), () => this.#stack.push(this.#take(2).readUInt16LE())],
    [code("X"), () => this.#stack.push(this.#take(this.#uint32()).toString())],
    [code("}"), () => this.#stack.push(Object.create(null))],
    [code("]"), () => this.#stack.push([])],
    [code("s"), () => this.#setItems([this.#pop(), this.#pop()].toReversed())],
    [code("u"), () => this.#setItems(this.#popToMark())],
    [code("a"), () => this.#append([this.#pop()])],
    [code("e"), () => this.#append(this.#popToMark())],
    [code("q"), () => this.#memo.set(this.#uint8(), this.#top())],
    [code("r"), () => this.#memo.set(this.#uint32(), this.#top())],
    [code("h"), () => this.#stack.push(this.#memo.get(this.#uint8()))],
    [code("j"), () => this.#stack.push(this.#memo.get(this.#uint32()))],
  ]);

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): unknown {
    for (let next = this.#uint8(); next !== code("."); next = this.#uint8()) {
      const run = this.#instructions.get(next);
      if (!run)
        throw new Error(`it holds the instruction 0x${next.toString(16)}, which no plain value needs`);
      run();
    }
    return this.#pop();
  }

  #checkProtocol(version: number): void {
    if (version > 2) throw new Error(`it is of protocol ${version}`);
  }

  #append(items: readonly unknown[]): void {
    const list = this.#top();
    if (!Array.isArray(list)) throw damaged();
    list.push(...items);
  }

  #setItems(items: readonly unknown[]): void {
    const dictionary = this.#top();
    if (typeof dictionary !== "object" || dictionary === null || Array.isArray(dictionary)) throw damaged();
    for (let index = 0; index < items.length; index += 2) {
      const key = items[index];
      if (typeof key !== "string" || index + 1 === items.length) throw damaged();
      Object.assign(dictionary, { [key]: items[index + 1] });
    }
  }

  #uint8(): number {
    return this.#take(1).readUInt8();
  }

  #uint32(): number {
    return this.#take(4).readUInt32LE();
  }

  #take(count: number): Buffer {
    const bytes = this.#bytes.subarray(this.#at, this.#at + count);
    if (bytes.length < count) throw new Error("it is truncated");
    this.#at += count;
    return bytes;
  }

  #top(): unknown {
    const value = this.#stack.at(-1);
    if (value === undefined || value === MARK) throw damaged();
    return value;
  }

  #pop(): unknown {
    const value = this.#top();
    this.#stack.pop();
    return value;
  }

  #popToMark(): readonly unknown[] {
    const mark = this.#stack.lastIndexOf(MARK);
    if (mark < 0) throw damaged();
    return this.#stack.splice(mark).slice(1);
  }
}

function code(character: string): number {
  return character.charCodeAt(0);
}

function damaged(): Error {
  return new Error("it is damaged");
}
