/** What reads text from outside: of callers, of workers, of daemons and of projects. */
import { requirementLines } from "../../cli/requirements/requirement-lines.ts";
import { isPackageName, normalizedName } from "../../cli/requirements/exclusions.ts";
import { parseServiceUrl } from "../../cli/service/service-url.ts";
import { Secrets } from "../../cli/terminal/secrets.ts";
import { parseOperation } from "../../cli/server/requests/queue-call.ts";
import { isOwnHost } from "../../cli/server/host-names.ts";
import { methodsOf } from "../../cli/server/requests/route-call.ts";
import { fetchFailure } from "../../cli/local/fetch-failure.ts";
import { Masks, readFacts } from "../../node-agent/logs/worker-log.ts";
import { readServerSettings } from "../../node-agent/worker/lifecycle/server-settings.ts";
import { requestHeaders, upgradeHeaders } from "../../node-agent/link/message-headers.ts";
import { parseGpuTelemetry, parseCudaVersion, parseGpuQuery } from "../../node-agent/gpu/nvidia-smi.ts";
import { pullFailure, startFailure } from "../../node-agent/runtime/daemon/docker-errors.ts";
import { nameserversIn } from "../../node-agent/runtime/network/firewall.ts";
import { isImageName, registryOf, repositoryOf } from "../../node-agent/runtime/images/image-name.ts";
import { listedName } from "../../src/contract/content.ts";
import { lastLinesOf } from "../../node-agent/runtime/interface/output.ts";
import { listeningIn } from "../../node-agent/runtime/interface/sockets.ts";
import { parsePs, parseStat } from "../../node-agent/host/process-table.ts";
import { readChunk, readResult } from "../../node-agent/worker-server/result.ts";
import { parseRelayed, parseRequest } from "../../node-agent/worker-server/worker-request.ts";
import { kindOfCredential, readCredential } from "../../src/auth/credential.ts";
import { readEncryptionKeys } from "../../src/auth/encryption-keys.ts";
import { isEarlier } from "../../src/contract/agent/agent-version.ts";
import { readCpuInstance } from "../../src/catalog/cpu-flavors.ts";
import { cutMessage } from "../../src/contract/errors.ts";
import { jobRequestSchema } from "../../src/contract/job.ts";
import { JsonCarver } from "../../src/json/json-carver.ts";
import { cutsAt } from "../../src/json/raw-json.ts";
import { decodeFrames } from "../../src/link/link-frame.ts";
import { logQuerySchema } from "../../src/contract/agent/log.ts";
import { trimOf } from "../../src/net/trimming.ts";
import { readRange } from "../../src/gateway/artifacts/byte-range.ts";
import { expose } from "../../src/domain/metrics/exposition.ts";
import { modelsOfGpuIds, readGpuIds } from "../../src/catalog/gpu-selection.ts";
import { decodeJobId } from "../../src/domain/jobs/job-id.ts";
import { readLogKey } from "../../src/domain/logs/log-key.ts";
import { readPosition } from "../../src/domain/logs/log-lines.ts";
import { LogProgress } from "../../src/domain/logs/log-progress.ts";
import { answerOf } from "../../src/domain/openai/openai-answer.ts";
import { errorOfString, errorInOutput } from "../../src/domain/openai/openai-error-details.ts";
import { OpenaiFrames } from "../../src/domain/openai/openai-frames.ts";
import { missingIn } from "../../src/domain/accounts/permissions.ts";
import { readPythonLiteral } from "../../src/domain/openai/python-literal.ts";
import { referencedSecrets } from "../../src/domain/accounts/secret-reference.ts";
import { webhookUrlIssue } from "../../src/domain/webhooks/webhook-url.ts";
import { endpointOfHost, placeBelow, readSuffixes } from "../../src/gateway/load-balancing/endpoint-url.ts";
import { fromByteString, endToEndHeaders, toByteString } from "../../src/gateway/load-balancing/headers.ts";
import { requestHead } from "../../src/gateway/load-balancing/request-head.ts";
import { exceededTextLimit } from "../../src/graphql/documents/limits.ts";
import { publicMessage } from "../../src/graphql/public-message.ts";
import { readRequest } from "../../src/graphql/request.ts";
import { templatePatchSchema } from "../../src/management/nouns/template.ts";

export type TextReader = {
  readonly name: string;
  /** Where its literals stand. */
  readonly path: string;
  readonly read: (text: string) => unknown;
};

const encoder = new TextEncoder();
const bodyOf = (text: string) => ({ bytes: Buffer.from(text), sizeBytes: Buffer.byteLength(text) });

/** Headers of a request with one text as every value that the edge reads; a Map, since Headers refuse some. */
function headersOf(value: string): Headers {
  const names = ["x-forwarded-for", "connection", "host", "x-runpod-worker-id", "x-own", "upgrade"];
  const headers = new Map(names.map((name) => [name, value]));
  return Object.assign(headers, {
    get: (name: string) => (headers.has(name.toLowerCase()) ? value : null),
  }) as unknown as Headers;
}

const masks = new Masks();
masks.add(["secret-value", "aaaaaaaaaaaaaaaa", `${"a".repeat(300)}b`, `b${"a".repeat(300)}`]);
const secrets = new Secrets({ API_KEY: "secret-value" });

function reader(path: string, name: string, read: TextReader["read"]): TextReader {
  return { name: `${path}: ${name}`, path, read };
}

export const TEXT_READERS: readonly TextReader[] = [
  reader("src/graphql/documents/limits.ts", "exceededTextLimit", exceededTextLimit),
  reader("src/graphql/public-message.ts", "publicMessage", publicMessage),
  reader("src/graphql/request.ts", "readRequest, body", readRequest),
  reader("src/graphql/request.ts", "readRequest, query", (query) => readRequest(JSON.stringify({ query }))),
  reader("src/domain/openai/openai-error-details.ts", "errorOfString", errorOfString),
  reader("src/domain/openai/openai-error-details.ts", "errorInOutput", (message) =>
    errorInOutput({ error: { message, type: message, code: message } }),
  ),
  reader("src/domain/openai/openai-answer.ts", "answerOf", (text) => answerOf(JSON.stringify([text, text]))),
  reader("src/domain/openai/openai-frames.ts", "OpenaiFrames", (text) => {
    const frames = new OpenaiFrames();
    return frames.encode(JSON.stringify(text)) + frames.end();
  }),
  reader("src/domain/openai/python-literal.ts", "readPythonLiteral", readPythonLiteral),
  reader("src/domain/openai/python-literal.ts", "readPythonLiteral, list", (text) =>
    readPythonLiteral(`[${text}]`),
  ),
  reader("src/domain/openai/python-literal.ts", "readPythonLiteral, text", (text) =>
    readPythonLiteral(`'${text}'`),
  ),
  reader("src/json/json-carver.ts", "JsonCarver", (text) => {
    const carver = new JsonCarver(cutsAt(["input"]));
    carver.scan(encoder.encode(text));
    carver.end();
  }),
  reader("src/json/json-carver.ts", "JsonCarver, key", (text) => {
    const carver = new JsonCarver(cutsAt(["input"]));
    for (const character of `{${JSON.stringify(text.slice(0, 1_000))}:1}`)
      carver.scan(encoder.encode(character));
    carver.end();
  }),
  reader("src/link/link-frame.ts", "decodeFrames", (text) => decodeFrames(encoder.encode(text))),
  reader("src/contract/job.ts", "jobRequestSchema", (text) =>
    jobRequestSchema.safeParse({
      input: text,
      webhook: text,
      webhookV2: text,
      s3Config: { endpointUrl: text },
    }),
  ),
  reader("src/contract/agent/log.ts", "logQuerySchema", (text) =>
    logQuerySchema.safeParse({ since: text, until: text, limit: text, cursor: text, search: text }),
  ),
  reader("src/contract/agent/agent-version.ts", "isEarlier", (text) => isEarlier(text, text)),
  reader("src/catalog/cpu-flavors.ts", "readCpuInstance", readCpuInstance),
  reader("src/contract/errors.ts", "cutMessage", cutMessage),
  reader("src/net/trimming.ts", "trimOf", (text) => trimOf(text, "-_=./")),
  reader("src/domain/accounts/secret-reference.ts", "referencedSecrets", referencedSecrets),
  reader("src/domain/webhooks/webhook-url.ts", "webhookUrlIssue", (hostname) =>
    webhookUrlIssue({ protocol: "https:", hostname, username: "", password: "" }, false),
  ),
  reader("src/domain/webhooks/webhook-url.ts", "URL", (text) =>
    webhookUrlIssue(new URL(`https://${text}.example/`), false),
  ),
  reader("src/domain/jobs/job-id.ts", "decodeJobId", decodeJobId),
  reader("src/domain/logs/log-key.ts", "readLogKey", readLogKey),
  reader("src/domain/logs/log-lines.ts", "readPosition", readPosition),
  reader("src/domain/logs/log-progress.ts", "LogProgress.read", (text) => LogProgress.read(text)),
  reader("src/gateway/artifacts/byte-range.ts", "readRange", (text) => readRange(text, 1_000)),
  reader("src/catalog/gpu-selection.ts", "readGpuIds", (text) => [readGpuIds(text), modelsOfGpuIds(text)]),
  reader("src/domain/accounts/permissions.ts", "missingIn", (text) =>
    missingIn({ graphql: "read", endpoints: {} }, { graphql: "read", endpoints: { [text]: "read" } }),
  ),
  reader("src/domain/metrics/exposition.ts", "expose", (text) =>
    expose([{ name: "n", help: "h", type: "gauge", samples: [{ labels: { label: text }, value: 1 }] }]),
  ),
  reader("src/gateway/load-balancing/endpoint-url.ts", "endpointOfHost, placeBelow", (text) => [
    endpointOfHost(`https://${text}/`, readSuffixes("lb.example")),
    placeBelow(`https://lb.example/${text}`, 2),
  ]),
  reader("src/gateway/load-balancing/endpoint-url.ts", "readSuffixes", readSuffixes),
  reader("src/gateway/load-balancing/headers.ts", "passingHeaders", (text) => [
    endToEndHeaders([
      ["connection", text],
      ["x", text],
    ]),
    fromByteString(text),
    toByteString(text),
  ]),
  reader("src/gateway/load-balancing/request-head.ts", "requestHead", (text) =>
    requestHead(
      { method: "GET", url: `https://lb.example/${encodeURIComponent(text)}`, headers: headersOf(text) },
      { target: text, prefix: text },
      { requestId: "id", client: null },
    ),
  ),
  reader("src/auth/credential.ts", "readCredential", (text) => kindOfCredential(readCredential(text) ?? "")),
  reader("src/auth/encryption-keys.ts", "readKeyRing", (text) =>
    readEncryptionKeys({ ENCRYPTION_KEYS: text }),
  ),
  reader("src/management/nouns/template.ts", "templatePatchSchema", (text) =>
    templatePatchSchema.safeParse({ name: text, imageName: text, ports: text, volumeMountPath: text }),
  ),
  reader("node-agent/logs/worker-log.ts", "Masks", (text) => masks.apply(text)),
  reader("node-agent/logs/worker-log.ts", "readFacts", readFacts),
  reader("node-agent/runtime/daemon/docker-errors.ts", "pullFailure", (text) => [
    pullFailure(
      { imageName: "a/b", registryAuth: { name: "n", username: "u", password: "password" } },
      new Error(text),
    ),
    startFailure("w", "a/b", Object.assign(new Error(text), { statusCode: 500 })),
  ]),
  reader("node-agent/runtime/images/image-name.ts", "image names", (text) => [
    isImageName(text),
    listedName(text),
    registryOf(text),
    repositoryOf(text),
  ]),
  reader("node-agent/runtime/interface/output.ts", "lastLinesOf", (text) => lastLinesOf(text, 20)),
  reader("node-agent/runtime/interface/sockets.ts", "listeningIn", (text) => listeningIn(text)),
  reader("node-agent/host/process-table.ts", "parsePs", (text) => [parsePs(text), parseStat(text, "boot")]),
  reader("node-agent/runtime/network/firewall.ts", "nameserversIn", nameserversIn),
  reader("node-agent/gpu/nvidia-smi.ts", "parseGpuTelemetry", parseGpuTelemetry),
  reader("node-agent/gpu/nvidia-smi.ts", "parseCudaVersion", parseCudaVersion),
  reader("node-agent/gpu/nvidia-smi.ts", "parseGpuQuery", parseGpuQuery),
  reader("node-agent/worker-server/worker-request.ts", "parseRequest", (text) => [
    parseRequest("POST", `/${text}`),
    parseRelayed(`/${text}`),
  ]),
  reader("node-agent/worker-server/result.ts", "readResult", (text) => [
    readResult(bodyOf(text)),
    readChunk(bodyOf(text)),
  ]),
  reader("node-agent/worker/lifecycle/server-settings.ts", "readServerSettings", (text) =>
    readServerSettings({ PORT: text, PORT_HEALTH: text, HEALTH_PATH: text }),
  ),
  reader("node-agent/link/message-headers.ts", "requestHeaders", (text) => {
    const head = {
      kind: "http",
      method: "POST",
      target: "/",
      headers: [
        ["connection", text],
        ["x", text],
      ],
    } as const;
    const mutable = {
      ...head,
      headers: head.headers.map(([name, value]): [string, string] => [name, value]),
    };
    return [requestHeaders(mutable, true), upgradeHeaders(mutable)];
  }),
  reader("cli/terminal/secrets.ts", "Secrets", (text) => secrets.redact(text)),
  reader("cli/requirements/requirement-lines.ts", "requirementLines", (text) => requirementLines(text, {})),
  reader("cli/requirements/exclusions.ts", "normalizedName", (text) => [
    isPackageName(text),
    normalizedName(text),
  ]),
  reader("cli/service/service-url.ts", "readAddress", (text) => parseServiceUrl(text, "a test")),
  reader("cli/server/requests/queue-call.ts", "askedOperation", parseOperation),
  reader("cli/server/host-names.ts", "isOwnHost", (text) => isOwnHost(text, "127.0.0.1")),
  reader("cli/server/requests/route-call.ts", "methodsOf", (path) =>
    methodsOf([{ method: "GET", path: "/a{one}-{two}-{three}b" }], path),
  ),
  reader("cli/local/fetch-failure.ts", "fetchFailure", (text) => fetchFailure(text, "/tmp")),
];
