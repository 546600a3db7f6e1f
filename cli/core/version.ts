/** Version of the `flash` command, and of the Python package that comes with it. */
export { EDGERUN_VERSION as FLASH_VERSION } from "../../src/contract/version.ts";
