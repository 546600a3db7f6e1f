/** The `flash` command. */
export {};
