/** Calls of the queue API as commands and programs to copy. The key is never written out. */
export type Program = { readonly name: string; readonly code: string };

/** Runs a job with this input, and prints what comes of it. */
export function runCode(origin: string, endpointId: string, input: string): readonly Program[] {
  const compact = compactJson(input);
  const url = `${origin}/v2/${endpointId}/runsync`;
  return [
    {
      name: "curl",
      code: `curl -s ${url} -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n  -d ${quoted(`{"input":${compact}}`)}`,
    },
    {
      name: "Python",
      code: `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}",\n    data=json.dumps({"input": json.loads(${JSON.stringify(compact)})}).encode(),\n    headers={"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"},\n)\nprint(json.load(urllib.request.urlopen(request)))`,
    },
    {
      name: "TypeScript",
      code: `const response = await fetch("${url}", {\n  method: "POST",\n  headers: { Authorization: \`Bearer \${process.env["KEY"]}\`, "Content-Type": "application/json" },\n  body: JSON.stringify({ input: ${compact} }),\n});\nconsole.log(await response.json());`,
    },
  ];
}

/** Prints a job as it stands. */
export function statusCode(origin: string, endpointId: string, jobId: string): readonly Program[] {
  const url = `${origin}/v2/${endpointId}/status/${jobId}`;
  return [
    { name: "curl", code: `curl -s ${url} -H "Authorization: Bearer $KEY"` },
    {
      name: "Python",
      code: `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}",\n    headers={"Authorization": f"Bearer {os.environ['KEY']}"},\n)\nprint(json.load(urllib.request.urlopen(request)))`,
    },
    {
      name: "TypeScript",
      code: `const response = await fetch("${url}", {\n  headers: { Authorization: \`Bearer \${process.env["KEY"]}\` },\n});\nconsole.log(await response.json());`,
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
