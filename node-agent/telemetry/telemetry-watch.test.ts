import { tmpdir } from "node:os";
import { describe, test } from "vitest";
import { hostTelemetrySchema } from "../../src/contract/agent/telemetry.ts";
import { parseNetDev, ratesBetween, TelemetryWatch } from "./telemetry-watch.ts";

const NET_DEV = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 3221225 100 0 0 0 0 0 0 3221225 100 0 0 0 0 0 0
  eth0: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0
enp5s0:500 5 0 0 0 0 0 0 700 7 0 0 0 0 0 0
docker0: 9000 9 0 0 0 0 0 0 9000 9 0 0 0 0 0 0
veth1a2b: 9000 9 0 0 0 0 0 0 9000 9 0 0 0 0 0 0
`;

const counters = (at: number, cpuBusyMs: number, receivedBytes: number) => ({
  at,
  cpuBusyMs,
  cpuTotalMs: at * 4,
  network: { receivedBytes, sentBytes: 0 },
});

describe("counters of the machine", () => {
  test("of its network are those of the interfaces that lead out", ({ expect }) => {
    expect(parseNetDev(NET_DEV)).toEqual({ receivedBytes: 1_500, sentBytes: 2_700 });
    expect(parseNetDev("")).toBeNull();
  });

  test("become rates over the time between two readings", ({ expect }) => {
    expect(ratesBetween(counters(1_000, 500, 100), counters(3_000, 2_500, 4_100))).toEqual({
      cpuPercent: 25,
      networkReceivedBytesPerS: 2_000,
      networkSentBytesPerS: 0,
    });
  });

  test("tell nothing from a first reading, or when they began again", ({ expect }) => {
    expect(ratesBetween(undefined, counters(1_000, 1, 1))).toMatchObject({ cpuPercent: null });
    const rates = ratesBetween(counters(1_000, 1, 5_000), counters(2_000, 2, 10));
    expect(rates.networkReceivedBytesPerS).toBeNull();
  });
});

test("a reading of this machine fits what the edge takes", async ({ expect }) => {
  const watch = new TelemetryWatch({ stateDir: tmpdir(), readGpus: async () => [] });
  try {
    await watch.refresh();
    const telemetry = watch.latest();
    expect(hostTelemetrySchema.parse(telemetry)).toEqual(telemetry);
    expect(telemetry?.memoryTotalMb).toBeGreaterThan(0);
    expect(telemetry?.diskTotalMb).toBeGreaterThan(0);
  } finally {
    watch.stop();
  }
});
