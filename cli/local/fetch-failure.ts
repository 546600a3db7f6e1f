import { Failure } from "../../src/std/failure.ts";

const LINES_SHOWN = 6;
const IRRELEVANT = /^npm warn (?!tar )|A complete log of this run/;

type Cause = { readonly pattern: RegExp; readonly message: string; readonly advice: readonly string[] };

/** Known failures of npm, recognised by the error codes in its output. */
function causes(directory: string): readonly Cause[] {
  return [
    {
      pattern: /\bENOSPC\b/,
      message: "There is not enough space on the disk for the Workers runtime: it takes 200 MB.",
      advice: [`Free space where ${directory} is, or name another place with XDG_CACHE_HOME.`],
    },
    {
      pattern: /\b(EACCES|EPERM|EROFS)\b/,
      message: `The Workers runtime cannot be written to ${directory}.`,
      advice: ["Correct the permissions there, or name another place with XDG_CACHE_HOME."],
    },
    {
      pattern: /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/,
      message: "The certificate of the npm registry is not trusted here.",
      advice: ["Behind a proxy with a certificate of its own, name that: NODE_EXTRA_CA_CERTS=FILE."],
    },
    {
      pattern:
        /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|FETCH_ERROR)\b|network/,
      message: "The npm registry cannot be reached, and the Workers runtime comes from there.",
      advice: [
        "Connect to the network and try again; it is needed once, and later starts need no network.",
        "Behind a proxy set HTTPS_PROXY; another registry is named with `npm config set registry URL`.",
      ],
    },
    {
      pattern: /\bE4\d\d\b|\bETARGET\b/,
      message: "The npm registry refuses a package of the Workers runtime.",
      advice: ["`npm config get registry` says which one is asked. It must have miniflare and workerd."],
    },
    {
      pattern: /\bEINTEGRITY\b/,
      message: "A package of the Workers runtime has come damaged.",
      advice: ["Try again. If that does not help: `npm cache clean --force`."],
    },
  ];
}

/** The failure of an installation with this output of npm, with advice on how to solve it. */
export function fetchFailure(output: string, directory: string): Failure {
  const cause = causes(directory).find(({ pattern }) => pattern.test(output));
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const relevant = lines.filter((line) => !IRRELEVANT.test(line)).slice(0, LINES_SHOWN);
  if (cause) return new Failure(cause.message, [...cause.advice, ...relevant.slice(0, 2)]);
  return new Failure("npm could not install the Workers runtime.", relevant);
}
