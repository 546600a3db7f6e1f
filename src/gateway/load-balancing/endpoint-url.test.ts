import fc from "fast-check";
import { test } from "vitest";
import { endpointOfHost, placeBelow, readSuffixes, targetOf } from "./endpoint-url.ts";

const SUFFIXES = readSuffixes(" lb.localhost, localhost,*.LB.example.com, ");

test("a host with one label in front of a suffix is an endpoint's", ({ expect }) => {
  const endpointOf = (url: string) => endpointOfHost(url, SUFFIXES);
  expect(endpointOf("http://abc.lb.localhost:8787/x")).toBe("abc");
  expect(endpointOf("https://ABC.lb.example.com")).toBe("abc");
  expect(endpointOf("https://abc.localhost?x=/.lb.localhost")).toBe("abc");
  expect(endpointOf("https://abc.LB.Example.com:443/")).toBe("abc");
  expect(endpointOf("https://abc.lb.example.com./")).toBe("abc"); // the same host, spelled to its end
  expect(endpointOf("https://abc.lb.example.com.:443/")).toBe("abc");
});

test("other hosts are none, even those of a suffix below another one", ({ expect }) => {
  for (const host of [
    "localhost",
    "lb.localhost",
    "a.b.lb.localhost",
    ".localhost",
    "127.0.0.1:8787",
    "[::1]:8787",
    "api.example.com",
    "lb.localhost.",
    "abc.lb.localhost..",
    "[::ffff:7f00:1]",
    "abc.lb.localhost@evil.test",
    "abc.lb.localhost.evil.test",
    "xlocalhost",
  ]) {
    expect(endpointOfHost(`http://${host}/abc.lb.localhost`, SUFFIXES), host).toBeUndefined();
  }
  expect(endpointOfHost("http://abc.localhost/", readSuffixes(""))).toBeUndefined();
});

/** What may stand in a request line after the host, spelled in every way. */
const targets = fc
  .array(
    fc.constantFrom("a", "/", "//", "%2F", "%2e", "..", ".", ";v=1", "|", '"', "{", "?", "&", "=", "%zz"),
  )
  .map((parts) => `/${parts.join("")}`);

test("a target is what stands behind the host, byte for byte", ({ expect }) => {
  fc.assert(
    fc.property(targets, (target) => {
      expect(targetOf(`http://abc.lb.localhost:8787${target}`)).toBe(target);
    }),
  );
  expect(targetOf("http://abc.localhost")).toBe("/");
  expect(targetOf("http://abc.localhost?x=1")).toBe("/?x=1");
  expect(targetOf("http://abc.localhost/x#part")).toBe("/x");
});

test("a path loses the segments that name the endpoint, and nothing else", ({ expect }) => {
  fc.assert(
    fc.property(targets, (target) => {
      const place = placeBelow(`http://edge/lb/abc${target}`, 2);
      expect(place).toEqual({ target, prefix: "/lb/abc" });
    }),
  );
  expect(placeBelow("http://edge/lb/abc", 2)).toEqual({ target: "/", prefix: "/lb/abc" });
  expect(placeBelow("http://edge/lb/abc?x=1", 2)).toEqual({ target: "/?x=1", prefix: "/lb/abc" });
  expect(placeBelow("http://edge/v2/abc/openai/v1/models?x", 3)).toEqual({
    target: "/v1/models?x",
    prefix: "/v2/abc/openai",
  });
});
