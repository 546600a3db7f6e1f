import fc from "fast-check";
import { describe, test } from "vitest";
import { GPU_TIERS } from "../../catalog/gpu-cards.ts";
import { VCPU, type UsedGpus } from "../metrics/worker-usage.ts";
import {
  HOST_KWH_PRICE_MAX,
  HOST_PRICE_MAX,
  HOST_WATTS_MAX,
  readHostPrice,
  workerPrice,
  writeHostPrice,
  type HostPrice,
} from "./host-price.ts";
import { usableGpuPrices } from "./nominal-prices.ts";

const amount = (max: number) => fc.double({ min: 0, max, noNaN: true });
const hostPrice: fc.Arbitrary<HostPrice> = fc.oneof(
  amount(HOST_PRICE_MAX).map((perHour) => ({ kind: "host" as const, perHour })),
  amount(HOST_PRICE_MAX).map((perGpuHour) => ({ kind: "gpu" as const, perGpuHour })),
  fc
    .record({ watts: amount(HOST_WATTS_MAX), perKwh: amount(HOST_KWH_PRICE_MAX) })
    .map((power) => ({ kind: "power" as const, ...power })),
);

const gpus = (count: number): UsedGpus[] => [{ model: "NVIDIA L4", tier: "ADA_24", count }];
const vcpus = (count: number): UsedGpus[] => [{ model: VCPU, tier: null, count }];

describe("the price of a worker", () => {
  test.for<[HostPrice | null, UsedGpus[], number]>([
    [{ kind: "host", perHour: 2 }, gpus(1), 0.5],
    [{ kind: "gpu", perGpuHour: 0.4 }, gpus(2), 0.8],
    [{ kind: "power", watts: 2_000, perKwh: 0.3 }, gpus(4), 0.6],
    [{ kind: "host", perHour: 2 }, vcpus(8), 0],
    [null, gpus(2), 0.048],
    [null, vcpus(8), 0.008],
  ])("at %j for %j is %d", ([price, used, expected], { expect }) => {
    expect(workerPrice(price, used, { gpus: 4, vcpus: 16 }, {})).toBeCloseTo(expected, 9);
  });

  test("on a host without GPUs is its part of the vCPUs, and of a worker without limits the whole", ({
    expect,
  }) => {
    const price: HostPrice = { kind: "host", perHour: 2 };
    expect(workerPrice(price, vcpus(4), { gpus: 0, vcpus: 16 }, {})).toBe(0.5);
    expect(workerPrice(price, [], { gpus: 0, vcpus: 16 }, {})).toBe(2);
  });

  test("is finite, not negative, and of workers that share a host no more than the host's", ({ expect }) => {
    fc.assert(
      fc.property(hostPrice, fc.array(fc.nat(8), { maxLength: 8 }), fc.nat(8), (price, counts, spare) => {
        const host = { gpus: counts.reduce((sum, count) => sum + count, spare), vcpus: 16 };
        const prices = counts.map((count) =>
          workerPrice(price, count > 0 ? gpus(count) : vcpus(1), host, {}),
        );
        for (const each of prices) expect(Number.isFinite(each) && each >= 0).toBe(true);
        if (host.gpus === 0) return;
        const whole = workerPrice(price, gpus(host.gpus), host, {});
        const sum = prices.reduce((total, each) => total + each, 0);
        expect(sum).toBeLessThanOrEqual(whole * (1 + 1e-9) + 1e-9);
      }),
    );
  });
});

describe("a price as clients write it", () => {
  test("is read as it was written", ({ expect }) => {
    fc.assert(
      fc.property(hostPrice, (price) => {
        expect(readHostPrice(writeHostPrice(price) ?? {})).toEqual(price);
      }),
    );
  });

  test.for([{}, { watts: 300 }, { perKwh: 0.3 }, { perHour: 1, perGpuHour: 1 }, { perHour: 1, watts: 300 }])(
    "is refused as %j",
    (written, { expect }) => {
      expect(readHostPrice(written)).toBeUndefined();
    },
  );
});

describe("GPU_PRICES in Fleet", () => {
  test("is what of it can be read", ({ expect }) => {
    expect(usableGpuPrices(undefined)).toEqual({});
    expect(usableGpuPrices("no JSON")).toEqual({});
    expect(usableGpuPrices("null")).toEqual({});
    expect(usableGpuPrices('{"ADA_24": 0.5, "AMPERE_16": "much", "AMPERE_24": -1}')).toEqual({ ADA_24: 0.5 });
    const prices = usableGpuPrices('{"ADA_24": 0.5, "NVIDIA L4": 0.5}');
    expect(workerPrice(null, gpus(2), { gpus: 4, vcpus: 16 }, prices)).toBe(1);
    expect(
      workerPrice(null, [{ model: "New", tier: "ADA_24", count: 1 }], { gpus: 4, vcpus: 16 }, prices),
    ).toBe(0.5);
    expect(
      workerPrice(null, [{ model: "New", tier: "AMPERE_16", count: 1 }], { gpus: 1, vcpus: 1 }, {}),
    ).toBe(GPU_TIERS.AMPERE_16.memoryGb / 1_000);
  });
});
