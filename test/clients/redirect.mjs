/**
 * Preloaded into programs that know only the addresses of the hosted service: whatever host they call, Edgerun
 * answers, as if DNS said so. The address stands in EDGERUN_URL.
 */
const realFetch = globalThis.fetch;

globalThis.fetch = (address, options) => {
  const { pathname, search } = new URL(address);
  return realFetch(new URL(pathname + search, process.env.EDGERUN_URL), options);
};
