import fc from "fast-check";
import { describe, test } from "vitest";
import {
  decodeCredit,
  decodeFrames,
  decodeOpen,
  encodeCredit,
  encodeFrames,
  encodeOpen,
  FLAG_END,
  FLAG_FIN,
  FRAME,
  type Frame,
  NO_PAYLOAD,
} from "./link-frame.ts";

const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const frame: fc.Arbitrary<Frame> = fc.record({
  type: fc.constantFrom(...Object.values(FRAME)),
  flags: fc.constantFrom(0, FLAG_END, FLAG_FIN, FLAG_END | FLAG_FIN),
  stream: u32,
  payload: fc.uint8Array({ maxLength: 100 }),
});
const workerId = fc.string({
  minLength: 1,
  maxLength: 128,
  unit: fc.constantFrom("a", "b", "y", "z", "A", "Z", "0", "9", "-", "_"),
});

const plain = (frames: readonly Frame[] | undefined) =>
  frames?.map(({ payload, ...rest }) => ({ ...rest, payload: [...payload] }));

describe("frames of a link", () => {
  test("come out of a message as they went in", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), (frames) => {
        expect(plain(decodeFrames(encodeFrames(frames)))).toEqual(plain(frames));
      }),
    );
  });

  test("are read of a message that lies within other bytes", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(frame), fc.nat(20), (frames, before) => {
        const message = encodeFrames(frames);
        const around = new Uint8Array(before + message.byteLength + 5).fill(0xff);
        around.set(message, before);
        const view = around.subarray(before, before + message.byteLength);
        expect(plain(decodeFrames(view))).toEqual(plain(frames));
      }),
    );
  });

  test("are none when a message was cut within one", ({ expect }) => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1, maxLength: 4 }), fc.nat(), (frames, at) => {
        const message = encodeFrames(frames);
        const cut = at % message.byteLength;
        const whole = frames.map((_, count) => encodeFrames(frames.slice(0, count)).byteLength);
        const decoded = decodeFrames(message.subarray(0, cut));
        if (whole.includes(cut)) expect(decoded).toHaveLength(whole.indexOf(cut));
        else expect(decoded).toBeUndefined();
      }),
    );
  });

  test("are read of any bytes without failing, and never beyond their end", ({ expect }) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const frames = decodeFrames(bytes);
        if (frames !== undefined) expect(encodeFrames(frames)).toEqual(bytes);
      }),
    );
  });

  test("of an unknown type are none", ({ expect }) => {
    const message = encodeFrames([{ type: FRAME.BEAT, flags: 0, stream: 0, payload: NO_PAYLOAD }]);
    message[0] = 0;
    expect(decodeFrames(message)).toBeUndefined();
    message[0] = 11;
    expect(decodeFrames(message)).toBeUndefined();
  });
});

describe("payloads of a link", () => {
  test("of OPEN name the worker and keep the head as it is", ({ expect }) => {
    fc.assert(
      fc.property(workerId, fc.uint8Array({ maxLength: 200 }), (id, head) => {
        const opened = decodeOpen(encodeOpen({ workerId: id }, head));
        expect(opened?.workerId).toBe(id);
        expect([...(opened?.head ?? [])]).toEqual([...head]);
      }),
    );
  });

  test("of OPEN name the port of a pod", ({ expect }) => {
    fc.assert(
      fc.property(workerId, fc.integer({ min: 1, max: 65_535 }), (id, port) => {
        const payload = encodeOpen({ workerId: id, port }, NO_PAYLOAD);
        expect(decodeOpen(payload)).toEqual({ workerId: id, port, head: NO_PAYLOAD });
      }),
    );
  });

  test("of OPEN without a worker, or cut within its name, are none", ({ expect }) => {
    expect(decodeOpen(NO_PAYLOAD)).toBeUndefined();
    expect(decodeOpen(new Uint8Array([0, 123, 125]))).toBeUndefined();
    fc.assert(
      fc.property(workerId, fc.nat(), (id, at) => {
        const payload = encodeOpen({ workerId: id }, NO_PAYLOAD);
        expect(decodeOpen(payload.subarray(0, at % payload.byteLength))).toBeUndefined();
      }),
    );
  });

  test("of CREDIT say as much as was given", ({ expect }) => {
    fc.assert(
      fc.property(u32, (bytes) => {
        expect(decodeCredit(encodeCredit(bytes))).toBe(bytes);
      }),
    );
    expect(decodeCredit(new Uint8Array(3))).toBeUndefined();
    expect(decodeCredit(new Uint8Array(5))).toBeUndefined();
  });
});
