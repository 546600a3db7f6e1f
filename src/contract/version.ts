/** The one version of everything in this repository; package.json and the Python package name the same. */
export const EDGERUN_VERSION = "0.3.0";
