import { describe, expect, test } from "vitest";
import { exclusionsOf, exclusionWarnings, normalizedName } from "./exclusions.ts";

describe("exclusions", () => {
  test("are what our images hold, and what is asked for", () => {
    const { keys } = exclusionsOf(["My_Package", "numpy"], {});
    expect(keys).toEqual(["my-package", "numpy", "torch", "torchaudio", "torchvision", "triton"]);
  });

  test("are what an image of one's own says that it holds", () => {
    const { keys } = exclusionsOf([], { FLASH_IMAGE_PACKAGES: "torch, Xformers" });
    expect(keys).toEqual(["torch", "xformers"]);
  });

  test("names that differ in case and dashes alone are one", () => {
    expect(
      ["Flask-SQLAlchemy", "flask_sqlalchemy", "flask.sqlalchemy", "flask-_sqlalchemy"].map(normalizedName),
    ).toEqual(Array(4).fill("flask-sqlalchemy"));
  });

  test("a name that nothing needs is worth a warning", () => {
    expect(exclusionWarnings(exclusionsOf(["panda"], {}), ["numpy"])).toMatchSnapshot();
  });

  test("a package that the image lacks is worth a loud one", () => {
    const exclusions = exclusionsOf(["torchvision"], { FLASH_IMAGE_PACKAGES: "torch" });
    expect(exclusionWarnings(exclusions, ["torch", "torchvision"])).toMatchSnapshot();
  });

  test("large packages are worth one where nobody says that the image has them", () => {
    const excluded = ["numpy", "torchvision"];
    expect(exclusionWarnings(exclusionsOf([], {}), excluded)).toMatchSnapshot();
    const declared = { FLASH_IMAGE_PACKAGES: excluded.join() };
    expect(exclusionWarnings(exclusionsOf([], declared), excluded)).toEqual([]);
  });

  test.each(["torch==2", "a b", "-x", "", "a/b"])("%j is no name of a package", (name) => {
    expect(() => exclusionsOf([name], {})).toThrowErrorMatchingSnapshot();
  });
});
