import { test } from "vitest";
import type { ListeningSocket } from "../../runtime/interface/runtime.ts";
import type { ProbeAnswer } from "./health.ts";
import { describeAnswer } from "./health-message.ts";

const settings = { port: 80, healthPort: 80, healthPath: "/ping" };
const at = (address: string, port: number): ListeningSocket => ({ address, port });
const refused: ProbeAnswer = { kind: "refused", port: 80 };

function inContainer(answer: ProbeAnswer, sockets: readonly ListeningSocket[] | null = null): string {
  return describeAnswer(answer, { settings, sockets, isIsolated: true });
}

test.for([
  { kind: "status", status: 204 },
  { kind: "status", status: 302 },
  { kind: "timeout" },
  { kind: "unreached", host: "172.18.0.2", port: 80 },
  { kind: "broken", reason: "Parse Error" },
] as const)("an answer is told with what was asked: %j", (answer, { expect }) => {
  expect(inContainer(answer)).toMatchSnapshot();
});

test.for([
  [null],
  [[]],
  [[at("0.0.0.0", 8000)]],
  [[at("0.0.0.0", 8000), at("::", 8000)]],
  [[at("::", 8000), at("127.0.0.1", 6379)]],
  [[at("0.0.0.0", 8000), at("0.0.0.0", 9000)]],
  [[at("127.0.0.1", 80)]],
  [[at("::1", 80), at("0.0.0.0", 9000)]],
  [[at("127.0.0.1", 8000)]],
] as const)("where nothing listens, what does is named: %j", ([sockets], { expect }) => {
  expect(inContainer(refused, sockets)).toMatchSnapshot();
});

test("the variable to set is that of the port which is wrong", ({ expect }) => {
  const surroundings = {
    settings: { ...settings, healthPort: 81 },
    sockets: [at("0.0.0.0", 80)],
    isIsolated: true,
  };
  expect(describeAnswer({ kind: "refused", port: 81 }, surroundings)).toContain("PORT_HEALTH=80");
});

test("the message asks a process to listen on PORT, since the host assigns ports", ({ expect }) => {
  const messages = describeAnswer(refused, { settings, sockets: [at("0.0.0.0", 8000)], isIsolated: false });
  expect(messages).toMatchSnapshot();
});
