/** WebSockets of objects that hibernate. */
import { Connection, noted, outcomeOf } from "./caller.ts";
import { type LifecycleCase, passed, type Place, type Subject } from "./subject.ts";

const talking = ({ state, notes }: Place): Subject => {
  notes.add("constructed");
  void state.blockConcurrencyWhile(() => passed(50));
  const sockets = (tag?: string): unknown[] =>
    state.getWebSockets(tag).map((socket) => [socket.deserializeAttachment(), socket.readyState]);
  const steps: Record<string, () => unknown> = {
    sockets: () => [sockets("tagged"), sockets("none")],
    abort: () => state.abort("planted"),
    close: () => {
      for (const socket of state.getWebSockets()) {
        socket.send("bye");
        socket.close(4_001, "planted");
      }
      return sockets();
    },
  };
  return {
    act: (step) => steps[step]?.(),
    opened(socket) {
      state.acceptWebSocket(socket, ["tagged"]);
      socket.serializeAttachment("attached");
    },
    message(socket, message) {
      notes.add(message);
      if (message === "close") return socket.close(4_001, "planted");
      socket.send(`got ${typeof message === "string" ? message : "bytes"}`);
    },
    closed(socket, code, reason, wasClean) {
      notes.add([code, reason, wasClean, socket.readyState, state.getWebSockets().length]);
      socket.close(code, "answered");
    },
  };
};

export const CONNECTIONS: readonly LifecycleCase[] = [
  {
    name: "sockets outlive an eviction, with their tags and attachments",
    subject: talking,
    run: async ({ stub, evict }) => {
      await Connection.open(stub());
      await evict();
      return stub().act("sockets");
    },
    gives: [[["attached", 1]], []],
  },
  {
    name: "messages wake an object, and come in their order once it is constructed",
    subject: talking,
    run: async ({ stub, evict }) => {
      const connection = await Connection.open(stub());
      await evict();
      for (const message of ["a", "b", "c"]) connection.send(message);
      return [await connection.events(3), await stub().act("notes")];
    },
    gives: [
      ["got a", "got b", "got c"],
      ["constructed", "constructed", "a", "b", "c"],
    ],
  },
  {
    name: "a close wakes an object, after the messages before it, and that socket is not found any more",
    subject: talking,
    run: async ({ stub, evict }) => {
      const connection = await Connection.open(stub());
      await evict();
      connection.send("a");
      connection.close(4_000, "planted");
      return [await connection.events(2), await noted(stub, 4), await stub().act("sockets")];
    },
    gives: [
      ["got a", [4_000, "answered"]],
      ["constructed", "constructed", "a", [4_000, "planted", true, 2, 0]],
      [[], []],
    ],
  },
  {
    name: "a close by the object comes after its messages; the socket is found until it is answered",
    subject: talking,
    run: async ({ stub }) => {
      const connection = await Connection.open(stub());
      const closing = await stub().act("close");
      return [closing, await connection.events(2), await noted(stub, 2), await stub().act("sockets")];
    },
    gives: [
      [["attached", 2]],
      ["bye", [4_001, "planted"]],
      ["constructed", [4_001, "planted", true, 3, 0]],
      [[], []],
    ],
  },
  {
    name: "messages that the client sends before it hears of a close come",
    subject: talking,
    run: async ({ stub }) => {
      const connection = await Connection.open(stub());
      for (const message of ["close", "late"]) connection.send(message);
      return [await connection.events(1), await noted(stub, 3)];
    },
    gives: [[[4_001, "planted"]], ["constructed", "close", "late", [4_001, "planted", true, 3, 0]]],
  },
  {
    name: "a reset breaks all sockets",
    subject: talking,
    run: async ({ stub }) => {
      const connection = await Connection.open(stub());
      await outcomeOf(stub().act("abort"));
      return [await connection.events(1), await stub().act("sockets"), await stub().act("notes")];
    },
    gives: [[1006], [[], []], ["constructed", "constructed"]],
  },
];
