import { describe, expect, test } from "vitest";
import { exclusionsOf, exclusionWarnings, normalizedName } from "./exclusions.ts";

describe("exclusions", () => {
  test("are the packages of the images and the requested ones", () => {
    const { keys } = exclusionsOf(["My_Package", "numpy"], {});
    expect(keys).toEqual(["my-package", "numpy", "torch", "torchaudio", "torchvision", "triton"]);
  });

  test("are the declared packages of a custom image", () => {
    const { keys } = exclusionsOf([], { FLASH_IMAGE_PACKAGES: "torch, Xformers" });
    expect(keys).toEqual(["torch", "xformers"]);
  });

  test("names that differ only in case and dashes are equal", () => {
    expect(
      ["Flask-SQLAlchemy", "flask_sqlalchemy", "flask.sqlalchemy", "flask-_sqlalchemy"].map(normalizedName),
    ).toEqual(Array(4).fill("flask-sqlalchemy"));
  });

  test("a name that nothing needs gives a warning", () => {
    expect(exclusionWarnings(exclusionsOf(["panda"], {}), ["numpy"])).toMatchSnapshot();
  });

  test("a package that the image may lack gives a loud warning", () => {
    const exclusions = exclusionsOf(["torchvision"], { FLASH_IMAGE_PACKAGES: "torch" });
    expect(exclusionWarnings(exclusions, ["torch", "torchvision"])).toMatchSnapshot();
  });

  test("large packages give a warning unless the image declares them", () => {
    const excluded = ["numpy", "torchvision"];
    expect(exclusionWarnings(exclusionsOf([], {}), excluded)).toMatchSnapshot();
    const declared = { FLASH_IMAGE_PACKAGES: excluded.join() };
    expect(exclusionWarnings(exclusionsOf([], declared), excluded)).toEqual([]);
  });

  test.each(["torch==2", "a b", "-x", "", "a/b"])("%j is no name of a package", (name) => {
    expect(() => exclusionsOf([name], {})).toThrowErrorMatchingSnapshot();
  });
});
