import { describe, test } from "vitest";
import { parseRelayed, parseRequest } from "./worker-request.ts";

describe("a request of a worker", () => {
  test("for one job or for a batch is a take", ({ expect }) => {
    expect(parseRequest("GET", "/T/job-take/w1?x=1&job_in_progress=0")).toEqual({
      token: "T",
      workerId: "w1",
      route: "job-take",
      batchSize: 1,
      hasJobInProgress: false,
    });
    expect(parseRequest("GET", "/T/job-take-batch/w1?x=1&batch_size=3&job_in_progress=1")).toMatchObject({
      route: "job-take",
      batchSize: 3,
      hasJobInProgress: true,
    });
    expect(parseRequest("GET", "/T/job-take/w1?x=1")).toMatchObject({ hasJobInProgress: null });
  });

  test("with a result carries the job id of its path", ({ expect }) => {
    expect(parseRequest("POST", "/T/job-done/w1/job-7?x=1&isStream=false")).toMatchObject({
      route: "job-done",
      jobId: "job-7",
    });
    expect(parseRequest("POST", "/T/job-done/w1?x=1")).toBeUndefined();
    expect(parseRequest("GET", "/T/job-done/w1/job-7")).toBeUndefined();
  });

  test("that pings names the jobs it holds, or why it is unhealthy", ({ expect }) => {
    const ping = parseRequest("GET", "/T/ping/w1?x=1&job_id=a,b&runpod_version=1.12.0");
    expect(ping).toMatchObject({ route: "ping", jobIds: new Set(["a", "b"]), unhealthyReason: null });
    expect(parseRequest("GET", "/T/ping/w1?x=1&status=unhealthy&check=disk&reason=5%25+free")).toMatchObject({
      unhealthyReason: "disk: 5% free",
    });
  });

  test("anywhere else is none", ({ expect }) => {
    expect(parseRequest("GET", "/")).toBeUndefined();
    expect(parseRequest("GET", "/T/other/w1")).toBeUndefined();
    expect(parseRequest("DELETE", "/T/job-take/w1")).toBeUndefined();
    expect(parseRequest("GET", "/%E0%A4%A/job-take/w1")).toBeUndefined();
  });
});

describe("a request for the edge", () => {
  const targetOf = (path: string) => parseRelayed(`/T/edge/w1${path}`)?.target;

  test("is passed on with the path and the query that the edge would read", ({ expect }) => {
    expect(parseRelayed("/T/edge/w1/v2/e1/run?a=%2F&b")).toEqual({
      token: "T",
      workerId: "w1",
      target: "/v2/e1/run?a=%2F&b",
    });
    expect(targetOf("/lb/e1/a/../b%20c")).toBe("/lb/e1/b%20c");
    expect(targetOf("//other.host/x")).toBe("//other.host/x");
    expect(targetOf("/../../../v2/e1/health")).toBe("/v2/e1/health");
    expect(targetOf("/lb/e1/\u00e9")).toBe("/lb/e1/%C3%A9");
  });

  test("does not get to the routes of agents, however they are written", ({ expect }) => {
    const written = ["/agent/v1/sync", "/agent", "/v2/../agent/v1/sync", "/v2/%2e%2E/agent/v1/sync"];
    for (const path of [...written, "/v2\\..\\agent/v1", "/%61gent/v1/sync", "/%zz"]) {
      expect(targetOf(path), path).toBeUndefined();
    }
  });

  test("is none in any other form", ({ expect }) => {
    expect(parseRelayed("http://edge/T/edge/w1/v2/e1/run")).toBeUndefined();
    expect(parseRelayed("/T/edge/w1")).toBeUndefined();
    expect(parseRelayed("/T/edge/%E0%A4%A/v2")).toBeUndefined();
  });
});
