/** Values as they cross from one isolate to another. */

const WHOLE = [ReadableStream, Request, Response, AbortSignal];

/** A copy that shares nothing with the value but what passes as it is: streams, requests, functions. */
export function copyValue(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (WHOLE.some((passed) => value instanceof passed)) return value;
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (ArrayBuffer.isView(value)) return structuredClone(value);
  if (Array.isArray(value)) return value.map(copyValue);
  if (value instanceof Date) return new Date(value);
  if (value instanceof Map)
    return new Map([...value].map(([key, item]) => [copyValue(key), copyValue(item)]));
  if (value instanceof Set) return new Set([...value].map(copyValue));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyValue(item)]));
}
