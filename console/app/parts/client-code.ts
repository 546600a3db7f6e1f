/** A job as commands and programs to copy. The key is never written out. */
export type ClientCode = { readonly name: string; readonly code: string };

export function clientCode(origin: string, endpointId: string, input: string): readonly ClientCode[] {
  const compact = compactJson(input);
  const url = `${origin}/v2/${endpointId}`;
  return [
    {
      name: "curl",
      code: `curl -s ${url}/runsync -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n  -d ${quoted(`{"input":${compact}}`)}`,
    },
    {
      name: "Python",
      code: `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}/runsync",\n    data=json.dumps({"input": json.loads(${JSON.stringify(compact)})}).encode(),\n    headers={"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"},\n)\nprint(json.load(urllib.request.urlopen(request)))`,
    },
    {
      name: "TypeScript",
      code: `const response = await fetch("${url}/runsync", {\n  method: "POST",\n  headers: { Authorization: \`Bearer \${process.env["KEY"]}\`, "Content-Type": "application/json" },\n  body: JSON.stringify({ input: ${compact} }),\n});\nconsole.log(await response.json());`,
    },
  ];
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function compactJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return "{}";
  }
}
