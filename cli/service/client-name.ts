import { hostname } from "node:os";
import { FLASH_VERSION } from "../core/version.ts";

/** Who asks, as the page of a login shows it: such as `flash/0.1.0 (laptop)`. */
export const CLIENT_NAME = `flash/${FLASH_VERSION} (${hostname().replaceAll(/[^\x20-\x7e]/g, "?")})`;
