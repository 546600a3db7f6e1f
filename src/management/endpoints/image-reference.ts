/**
 * References to container images: `[registry[:port]/]repository[:tag][@digest]`. Without a tag and a digest the
 * registry's `latest` is meant, as everywhere else.
 */

const COMPONENT = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const HOST_NAME = /^[A-Za-z0-9.-]+$/;
const IPV6 = /^\[[0-9a-fA-F:]+\]$/;
const PORT = /^\d{1,5}$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Far above the 255 that registries take. */
const MAX_CHARACTERS = 1_000;

export function isImageReference(value: string): boolean {
  if (value.length > MAX_CHARACTERS) return false;
  const [name = "", digest, ...excess] = value.split("@");
  if (excess.length > 0 || (digest !== undefined && !DIGEST.test(digest))) return false;
  const places = name.split("/");
  const [last = "", tag, ...more] = (places.pop() ?? "").split(":");
  if (more.length > 0 || (tag !== undefined && !TAG.test(tag))) return false;
  const components = [...places, last];
  const first = places[0];
  const path = first !== undefined && isHost(first) ? components.slice(1) : components;
  return (
    path.every((component) => COMPONENT.test(component)) || components.every((one) => COMPONENT.test(one))
  );
}

function isHost(value: string): boolean {
  const colon = value.startsWith("[") ? value.indexOf(":", value.indexOf("]")) : value.indexOf(":");
  const host = colon < 0 ? value : value.slice(0, colon);
  if (colon >= 0 && !PORT.test(value.slice(colon + 1))) return false;
  if (host.startsWith("[")) return IPV6.test(host);
  return HOST_NAME.test(host) && /^[A-Za-z0-9]/.test(host) && /[A-Za-z0-9]$/.test(host);
}
