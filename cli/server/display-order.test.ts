import { expect, test } from "vitest";
import { DisplayOrder, type DisplayedCall } from "./display-order.ts";

function openOrder() {
  const ending = new AbortController();
  const order = new DisplayOrder(ending.signal);
  const shown: string[] = [];
  const begin = (): { readonly turn: DisplayedCall; readonly say: (text: string) => void } => {
    const turn = order.begin();
    return { turn, say: (text) => turn.show(() => shown.push(text)) };
  };
  return { begin, shown, end: () => ending.abort() };
}

test("a later call is shown after the log of an earlier one", () => {
  const { begin, shown } = openOrder();
  const first = begin();
  first.say("1 begins");
  const logShown = first.turn.awaitLog();
  first.say("1 done");
  first.turn.end();

  const second = begin();
  second.say("2 begins");
  first.say("1 printed");
  second.say("2 done");
  second.turn.end();
  expect(shown).toEqual(["1 begins", "1 done", "1 printed"]);
  logShown();
  expect(shown.slice(3)).toEqual(["2 begins", "2 done"]);
});

test("concurrent calls are shown as they come", () => {
  const { begin, shown } = openOrder();
  const first = begin();
  first.turn.awaitLog();
  const second = begin();
  second.say("2 begins");
  first.turn.end();
  second.say("2 done");
  expect(shown).toEqual(["2 begins", "2 done"]);
});

test("a call without a log delays no other call", () => {
  const { begin, shown } = openOrder();
  begin().turn.end();
  begin().say("2 begins");
  expect(shown).toEqual(["2 begins"]);
});

test("buffered calls are shown one by one, each with its own log", () => {
  const { begin, shown } = openOrder();
  const calls = [1, 2, 3].map((number) => {
    const { turn, say } = begin();
    const logShown = turn.awaitLog();
    say(`${number} begins`);
    turn.end();
    return { say, logShown };
  });
  const [first, second, third] = calls;
  second?.say("2 printed");
  second?.logShown();
  third?.say("3 printed");
  third?.logShown();
  first?.say("1 printed");
  first?.logShown();
  expect(shown).toEqual(["1 begins", "1 printed", "2 begins", "2 printed", "3 begins", "3 printed"]);
});

test("a log that is reported as shown twice counts once", () => {
  const { begin, shown } = openOrder();
  const { turn } = begin();
  const [once, other] = [turn.awaitLog(), turn.awaitLog()];
  turn.end();
  once();
  once();
  const second = begin();
  second.say("2 begins");
  expect(shown).toEqual([]);
  other();
  expect(shown).toEqual(["2 begins"]);
});

test("the end of the command flushes the buffer and stops buffering", () => {
  const { begin, shown, end } = openOrder();
  const { turn } = begin();
  turn.awaitLog();
  turn.end();
  begin().say("2 begins");
  end();
  expect(shown).toEqual(["2 begins"]);
  begin().say("3 begins");
  expect(shown).toEqual(["2 begins", "3 begins"]);
});
