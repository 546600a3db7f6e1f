/** Values of a stream that holds one JSON text per line. */
export async function* jsonLines(stream: NodeJS.ReadableStream): AsyncGenerator<unknown> {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line.trim() !== "").map((line): unknown => JSON.parse(line));
  }
  if (rest.trim() !== "") yield JSON.parse(rest);
}
