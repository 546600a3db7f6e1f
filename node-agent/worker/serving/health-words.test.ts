import { test } from "vitest";
import type { ListeningSocket } from "../../runtime/runtime.ts";
import type { ProbeAnswer } from "./health.ts";
import { describeAnswer } from "./health-words.ts";

const settings = { port: 80, healthPort: 80, healthPath: "/ping" };
const at = (address: string, port: number): ListeningSocket => ({ address, port });
const refused: ProbeAnswer = { kind: "refused", port: 80 };

function inContainer(answer: ProbeAnswer, sockets: readonly ListeningSocket[] | null = null): string {
  return describeAnswer(answer, { settings, sockets, isApart: true });
}

test.for([
  [{ kind: "status", status: 204 }, "initializing (204 on /ping)"],
  [
    { kind: "status", status: 302 },
    "GET /ping on port 80 answers 302; it must answer 200 once the worker can take requests",
  ],
  [{ kind: "timeout" }, "GET /ping on port 80 was not answered within 5 s"],
  [
    { kind: "unreached", host: "172.18.0.2", port: 80 },
    "no connection to 172.18.0.2:80 came about: the server accepts none, or the container's address cannot be reached from the agent, as when Docker runs in a virtual machine or on another host",
  ],
  [
    { kind: "broken", reason: "Parse Error" },
    "GET /ping on port 80 got no answer that is HTTP (Parse Error)",
  ],
] as const)("an answer is told with what was asked: %j", ([answer, words], { expect }) => {
  expect(inContainer(answer)).toBe(words);
});

test.for([
  [null, "nothing listens on port 80 yet"],
  [[], "nothing listens on port 80 yet"],
  [[at("0.0.0.0", 8000)], "nothing listens on port 80; the container listens on 8000: set PORT=8000"],
  [
    [at("0.0.0.0", 8000), at("::", 8000)],
    "nothing listens on port 80; the container listens on 8000: set PORT=8000",
  ],
  [
    [at("::", 8000), at("127.0.0.1", 6379)],
    "nothing listens on port 80; the container listens on 8000 and 127.0.0.1:6379 only: set PORT=8000",
  ],
  [
    [at("0.0.0.0", 8000), at("0.0.0.0", 9000)],
    "nothing listens on port 80; the container listens on 8000 and 9000: set PORT to the right one",
  ],
  [[at("127.0.0.1", 80)], "the server listens on 127.0.0.1:80 only; bind 0.0.0.0"],
  [[at("::1", 80), at("0.0.0.0", 9000)], "the server listens on [::1]:80 only; bind 0.0.0.0"],
  [
    [at("127.0.0.1", 8000)],
    "nothing listens on port 80; the container listens on 127.0.0.1:8000 only: bind 0.0.0.0, and set PORT=8000",
  ],
] as const)("where nothing listens, what does is named: %j", ([sockets, words], { expect }) => {
  expect(inContainer(refused, sockets)).toBe(words);
});

test("the variable to set is that of the port which is wrong", ({ expect }) => {
  const surroundings = {
    settings: { ...settings, healthPort: 81 },
    sockets: [at("0.0.0.0", 80)],
    isApart: true,
  };
  expect(describeAnswer({ kind: "refused", port: 81 }, surroundings)).toMatch(/: set PORT_HEALTH=80$/);
});

test("a process is told to obey PORT, for the ports are the host's", ({ expect }) => {
  const words = describeAnswer(refused, { settings, sockets: [at("0.0.0.0", 8000)], isApart: false });
  expect(words).toBe(
    "nothing listens on port 80; the worker listens on 8000: let the server listen on the port that the variable PORT names (here 80)",
  );
});
