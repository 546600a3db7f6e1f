/** `node:crypto` with the random numbers of the world. */
import { place } from "../../world/globals.ts";
import * as real from "real:crypto";

export const { createHash, createHmac, timingSafeEqual, createPublicKey, verify } = real;

export function randomUUID(): string {
  return crypto.randomUUID();
}

export function randomBytes(size: number): Buffer {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(size)));
}

export function randomInt(min: number, max: number): number {
  const here = place();
  return here ? here.world.random.whole(min, max - 1) : real.randomInt(min, max);
}
