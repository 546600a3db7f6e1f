import { describe, test } from "vitest";
import { DATA_CENTERS } from "./data-centers.ts";
import { locationHintOf } from "./location-hints.ts";

describe("where an object is created", () => {
  test("is known for each data center and its country, and is on its continent", ({ expect }) => {
    const within = {
      NORTH_AMERICA: ["enam", "wnam"],
      EUROPE: ["weur", "eeur"],
      ASIA: ["apac"],
      OCEANIA: ["oc"],
    };
    for (const { id, countryCode, region } of DATA_CENTERS) {
      expect(within[region]).toContain(locationHintOf([id]));
      expect(within[region]).toContain(locationHintOf([countryCode]));
    }
  });

  test("is that of the first place that is known", ({ expect }) => {
    expect(locationHintOf(["my cellar", "US-CA-2", "RO"])).toBe("wnam");
    expect(locationHintOf(["RO", "US"])).toBe("eeur");
    expect(locationHintOf([])).toBeUndefined();
    expect(locationHintOf(["my cellar"])).toBeUndefined();
  });
});
