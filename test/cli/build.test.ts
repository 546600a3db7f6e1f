import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { indexEnvironment, wheelHouse } from "../support/wheel-house.ts";
import { build, built, HELLO, pathsIn, pathWithUv, projectOf } from "./build-project.ts";

test("an app becomes one archive", async () => {
  const project = projectOf({ "app.py": HELLO, "requirements.txt": "edgerun\nleft==1.0\ntorch\n" });
  const house = wheelHouse({ name: "left", requires: ["numpy", "right"], scripts: ["left = left:main"] }, { name: "right" }, { name: "numpy" });
  for (const environment of [indexEnvironment(house), { ...indexEnvironment(house), PATH: pathWithUv() }]) {
    const { shown, ...result } = await built(project, { environment });
    console.log(shown, result, pathsIn(result.artifact.path).filter((p) => !p.startsWith("edgerun/")));
  }
  expect(existsSync(join(project, ".flash/.build"))).toBe(false);
});
