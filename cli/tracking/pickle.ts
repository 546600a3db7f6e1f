/**
 * Python's pickle format, protocol 2, of plain values only. A pickle is a program; of its instructions the reader
 * knows those that make dictionaries, lists, texts, whole numbers, booleans and None, and refuses all others.
 */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

type Mutable = string | number | boolean | null | Mutable[] | { [key: string]: Mutable };

const MARK = Symbol("mark");
const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

const OP = {
  proto: 0x80,
  stop: 0x2e,
  mark: 0x28,
  emptyDict: 0x7d,
  emptyList: 0x5d,
  setItem: 0x73,
  setItems: 0x75,
  append: 0x61,
  appends: 0x65,
  binUnicode: 0x58,
  binInt: 0x4a,
  binInt1: 0x4b,
  binInt2: 0x4d,
  newTrue: 0x88,
  newFalse: 0x89,
  none: 0x4e,
  binPut: 0x71,
  longBinPut: 0x72,
  binGet: 0x68,
  longBinGet: 0x6a,
} as const;

/** Throws an Error that says what it met where the bytes hold anything but plain values. */
export function readPickle(bytes: Buffer): Plain {
  return new PickleReader(bytes).read();
}

export function writePickle(value: Plain): Buffer {
  return Buffer.concat([Buffer.from([OP.proto, 2]), ...pieces(value), Buffer.from([OP.stop])]);
}

function pieces(value: Plain): Buffer[] {
  if (value === null) return [Buffer.from([OP.none])];
  if (typeof value === "boolean") return [Buffer.from([value ? OP.newTrue : OP.newFalse])];
  if (typeof value === "number") return [integer(value)];
  if (typeof value === "string") return [text(value)];
  if (isList(value)) {
    return [Buffer.from([OP.emptyList, OP.mark]), ...value.flatMap(pieces), Buffer.from([OP.appends])];
  }
  const items = Object.entries(value).flatMap(([key, item]) => [text(key), ...pieces(item)]);
  return [Buffer.from([OP.emptyDict, OP.mark]), ...items, Buffer.from([OP.setItems])];
}

function isList(value: readonly Plain[] | { readonly [key: string]: Plain }): value is readonly Plain[] {
  return Array.isArray(value);
}

function integer(value: number): Buffer {
  if (!Number.isInteger(value) || value < INT32.min || value > INT32.max) {
    throw new Error(`${value} is no whole number of 32 bits`);
  }
  const bytes = Buffer.from([OP.binInt, 0, 0, 0, 0]);
  bytes.writeInt32LE(value, 1);
  return bytes;
}

function text(value: string): Buffer {
  const content = Buffer.from(value, "utf8");
  const head = Buffer.from([OP.binUnicode, 0, 0, 0, 0]);
  head.writeUInt32LE(content.length, 1);
  return Buffer.concat([head, content]);
}

class PickleReader {
  readonly #bytes: Buffer;
  readonly #stack: (Mutable | typeof MARK)[] = [];
  readonly #memo = new Map<number, Mutable>();
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): Plain {
    while (true) {
      const code = this.#take(1).readUInt8();
      if (code === OP.stop) return this.#pop();
      this.#step(code);
    }
  }

  #step(code: number): void {
    if (this.#value(code) || this.#collection(code) || this.#memory(code)) return;
    if (code === OP.proto) {
      const version = this.#take(1).readUInt8();
      if (version > 2) throw new Error(`it is of protocol ${version}`);
      return;
    }
    throw new Error(`it holds the instruction 0x${code.toString(16)}, which is not one of plain values`);
  }

  #value(code: number): boolean {
    if (code === OP.none) this.#stack.push(null);
    else if (code === OP.newTrue) this.#stack.push(true);
    else if (code === OP.newFalse) this.#stack.push(false);
    else if (code === OP.binInt) this.#stack.push(this.#take(4).readInt32LE());
    else if (code === OP.binInt1) this.#stack.push(this.#take(1).readUInt8());
    else if (code === OP.binInt2) this.#stack.push(this.#take(2).readUInt16LE());
    else if (code === OP.binUnicode) {
      this.#stack.push(this.#take(this.#take(4).readUInt32LE()).toString("utf8"));
    } else return false;
    return true;
  }

  #collection(code: number): boolean {
    if (code === OP.mark) this.#stack.push(MARK);
    else if (code === OP.emptyDict) this.#stack.push(Object.create(null) as Record<string, Mutable>);
    else if (code === OP.emptyList) this.#stack.push([]);
    else if (code === OP.append) this.#appendTo([this.#pop()]);
    else if (code === OP.appends) this.#appendTo(this.#popToMark());
    else if (code === OP.setItem) this.#setIn([this.#pop(), this.#pop()].toReversed());
    else if (code === OP.setItems) this.#setIn(this.#popToMark());
    else return false;
    return true;
  }

  #memory(code: number): boolean {
    if (code === OP.binPut) this.#memo.set(this.#take(1).readUInt8(), this.#top());
    else if (code === OP.longBinPut) this.#memo.set(this.#take(4).readUInt32LE(), this.#top());
    else if (code === OP.binGet) this.#recall(this.#take(1).readUInt8());
    else if (code === OP.longBinGet) this.#recall(this.#take(4).readUInt32LE());
    else return false;
    return true;
  }

  #recall(index: number): void {
    const value = this.#memo.get(index);
    if (value === undefined) throw new Error("it is damaged");
    this.#stack.push(value);
  }

  #appendTo(items: readonly Mutable[]): void {
    const list = this.#top();
    if (!Array.isArray(list)) throw new Error("it is damaged");
    list.push(...items);
  }

  #setIn(items: readonly Mutable[]): void {
    const dictionary = this.#top();
    if (typeof dictionary !== "object" || dictionary === null || Array.isArray(dictionary)) {
      throw new Error("it is damaged");
    }
    for (let index = 0; index < items.length; index += 2) {
      const [key, value] = items.slice(index);
      if (typeof key !== "string" || value === undefined) throw new Error("it has a key that is no text");
      dictionary[key] = value;
    }
  }

  #take(count: number): Buffer {
    const bytes = this.#bytes.subarray(this.#at, this.#at + count);
    if (bytes.length < count) throw new Error("it is cut off");
    this.#at += count;
    return bytes;
  }

  #top(): Mutable {
    const value = this.#stack.at(-1);
    if (value === undefined || value === MARK) throw new Error("it is damaged");
    return value as Mutable;
  }

  #pop(): Mutable {
    const value = this.#top();
    this.#stack.pop();
    return value;
  }

  #popToMark(): Mutable[] {
    const mark = this.#stack.lastIndexOf(MARK);
    if (mark < 0) throw new Error("it is damaged");
    return this.#stack.splice(mark).slice(1) as Mutable[];
  }
}
