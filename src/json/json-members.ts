/**
 * Members of JSON objects, cut out of valid text and put into it. Users' values stay the text that they arrived as, since
 * parsing and writing them again would change numbers, escapes and repeated keys.
 */

export type JsonMember = {
  /** What the key means: its escapes are resolved. */
  readonly name: string;
  /** The value as it is written. */
  readonly value: string;
  /** Key, colon and value as they are written. */
  readonly source: string;
};

/**
 * The members of an object in their order, also those whose keys repeat; undefined for any other value. `json` must be
 * valid JSON.
 */
export function membersOf(json: string): readonly JsonMember[] | undefined {
  let at = skipSpace(json, 0);
  if (json[at] !== "{") return undefined;
  const members: JsonMember[] = [];
  at = skipSpace(json, at + 1);
  while (at < json.length && json[at] !== "}") {
    const keyEnd = endOfValue(json, at);
    const from = skipSpace(json, skipSpace(json, keyEnd) + 1); // behind the colon
    const end = endOfValue(json, from);
    members.push({
      name: JSON.parse(json.slice(at, keyEnd)) as string,
      value: json.slice(from, end),
      source: json.slice(at, end),
    });
    at = skipSpace(json, end);
    if (json[at] === ",") at = skipSpace(json, at + 1);
  }
  return members;
}

/** An object of these members, as they are written. */
export function objectOf(members: readonly JsonMember[]): string {
  return `{${members.map(({ source }) => source).join(",")}}`;
}

/** The object with one more member, whose value is JSON text; `object` has no space around it. */
export function withMember(object: string, name: string, value: string): string {
  const begin = object === "{}" ? "{" : `${object.slice(0, -1)},`;
  return `${begin}${JSON.stringify(name)}:${value}}`;
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (at < json.length && " \n\r\t".includes(json.charAt(at))) at += 1;
  return at;
}

function endOfValue(json: string, from: number): number {
  const first = json[from];
  if (first === '"') return endOfString(json, from);
  if (first === "{" || first === "[") return endOfContainer(json, from);
  let at = from;
  while (at < json.length && !" \n\r\t,]}".includes(json.charAt(at))) at += 1;
  return at;
}

function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfContainer(json: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const character = json[at];
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    at = character === '"' ? endOfString(json, at) : at + 1;
  } while (depth > 0 && at < json.length);
  return at;
}
