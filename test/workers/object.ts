/** Reaches into the objects of a test: alarms fired by hand, eviction, rows counted. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { notYet, until } from "./support/until.ts";

export function endpointObject(endpointId: string) {
  return env.ENDPOINT.getByName(`${endpointId}#0`);
}

export async function fireAlarm(endpointId: string): Promise<boolean> {
  return runDurableObjectAlarm(endpointObject(endpointId));
}

/** When the object's alarm will ring. */
export async function alarmOf(endpointId: string): Promise<number | null> {
  return runInDurableObject(endpointObject(endpointId), (_, { storage }) => storage.getAlarm());
}

/** The object loses its memory, as by hibernation: storage and wake-up channels stay. */
export async function evict(endpointId: string): Promise<void> {
  await evictDurableObject(endpointObject(endpointId));
}

/** The object dies in the middle of what it does, as when its machine does. */
export async function kill(endpointId: string): Promise<void> {
  const died = runInDurableObject(endpointObject(endpointId), (_, state) => state.abort("killed by a test"));
  await died.catch(() => {});
}

/** That of an account. */
export function fleetObject(accountId: string) {
  return env.FLEET.getByName(accountId);
}

/** Resolves once no webhook is under way and all outcomes are written. */
export async function untilWebhooksRest(endpointId: string): Promise<void> {
  const look = async () => {
    const { openWebhooks } = await endpointObject(endpointId).vitals();
    return openWebhooks === 0 || notYet(openWebhooks);
  };
  await until(look, "no webhook is under way");
}

/** Moves the clock of the test and of the objects. */
export function passTime(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Resolves once the object has a wake-up channel under the tag: the waiter waits outside, the object is free. */
export async function channelOf(endpointId: string, tag: string): Promise<void> {
  await untilChannels(endpointId, tag, "some", (count) => count > 0);
}

/** Tells all who wait under the tag to look, though nothing happened. */
export async function notifyChannels(endpointId: string, tag: string): Promise<void> {
  await runInDurableObject(endpointObject(endpointId), (_, state) => {
    for (const socket of state.getWebSockets(tag)) socket.close(1000, "look");
  });
}

/** Resolves once a call of an agent waits, inside the object or, on a slow machine, on a wake-up channel already. */
export async function untilHeld(endpointId: string): Promise<void> {
  const look = async () =>
    (await endpointObject(endpointId).vitals()).waitingExchanges > 0 ||
    (await countChannels(endpointId, "agent")) > 0;
  await until(look, "a call of an agent waits");
}

async function countChannels(endpointId: string, tag: string): Promise<number> {
  return runInDurableObject(endpointObject(endpointId), (_, state) => state.getWebSockets(tag).length);
}

/** Resolves once nobody waits under the tag. */
export async function noChannelOf(endpointId: string, tag: string): Promise<void> {
  await untilChannels(endpointId, tag, "0", (count) => count === 0);
}

/** Resolves once so many wait under the tag. */
export async function channelsOf(endpointId: string, tag: string, count: number): Promise<void> {
  await untilChannels(endpointId, tag, `${count}`, (open) => open === count);
}

async function untilChannels(
  endpointId: string,
  tag: string,
  what: string,
  isExpected: (count: number) => boolean,
): Promise<void> {
  const look = async () => {
    const count = await countChannels(endpointId, tag);
    return isExpected(count) || notYet(count);
  };
  await until(look, `${what} wake-up channels with the tag '${tag}' are open`);
}

/** What the object was told of its endpoint. */
export async function configOf(endpointId: string): Promise<EndpointConfig> {
  const { json } = await runInDurableObject(endpointObject(endpointId), (_, state) =>
    state.storage.sql.exec<{ json: string }>("SELECT json FROM fact WHERE name = 'config'").one(),
  );
  return JSON.parse(json) as EndpointConfig;
}

/** Tells the object of a setting that the management API does not offer. */
export async function configure(endpointId: string, settings: Partial<EndpointConfig>): Promise<void> {
  await endpointObject(endpointId).configure({ ...(await configOf(endpointId)), ...settings });
}

/** Objects that are constructed from now on have so much storage for their jobs; undefined for the default. */
export function limitStorage(gigabytes: string | undefined): void {
  Object.assign(env, { ENDPOINT_STORAGE_GB: gigabytes });
}
