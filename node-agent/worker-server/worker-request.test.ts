import { describe, test } from "vitest";
import { parseRequest } from "./worker-request.ts";

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
