/** Version of the `flash` command, and of the Python package that comes with it. */
export const FLASH_VERSION = "0.1.0";
