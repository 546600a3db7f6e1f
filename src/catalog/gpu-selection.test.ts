import { test } from "vitest";
import { readGpuIds } from "./gpu-selection.ts";

test("tiers keep their order of preference and count once", ({ expect }) => {
  expect(readGpuIds("AMPERE_48, ADA_24 ,AMPERE_48,")).toEqual({
    kind: "selection",
    tiers: ["AMPERE_48", "ADA_24"],
    excludedModels: [],
  });
});

test("a minus leaves a model out, wherever it stands", ({ expect }) => {
  expect(readGpuIds("ADA_24,AMPERE_80,-NVIDIA A100-SXM4-80GB")).toEqual({
    kind: "selection",
    tiers: ["ADA_24", "AMPERE_80"],
    excludedModels: ["NVIDIA A100-SXM4-80GB"],
  });
});

test("a plain model means its tier without the tier's other models", ({ expect }) => {
  expect(readGpuIds("NVIDIA A40")).toEqual({
    kind: "selection",
    tiers: ["AMPERE_48"],
    excludedModels: ["NVIDIA RTX A6000"],
  });
});

test("a model beside its own tier narrows nothing", ({ expect }) => {
  expect(readGpuIds("NVIDIA A40,AMPERE_48")).toEqual({
    kind: "selection",
    tiers: ["AMPERE_48"],
    excludedModels: [],
  });
});

test("unknown names and exclusions of whole tiers are refused by name", ({ expect }) => {
  expect(readGpuIds("ADA_24,ADA_25")).toEqual({ kind: "unknown-gpu", token: "ADA_25" });
  expect(readGpuIds("ADA_24,-AMPERE_80")).toEqual({ kind: "unknown-gpu", token: "-AMPERE_80" });
  expect(readGpuIds("ADA_24,-")).toEqual({ kind: "unknown-gpu", token: "-" });
});

test("nothing but blanks or exclusions is no selection", ({ expect }) => {
  expect(readGpuIds(" , ")).toEqual({ kind: "no-gpu" });
  expect(readGpuIds("-NVIDIA A40")).toEqual({ kind: "no-gpu" });
});
