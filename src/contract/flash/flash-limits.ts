/** Numbers of flash on which the edge and the command agree, each with its unit. */

const MEGABYTE = 1_000_000;

// Flash apps

/** Size of a packed deployment artifact: 1.5 GB in decimal units. */
export const ARTIFACT_MAX_BYTES = 1_500 * MEGABYTE;
/** As text; a manifest is one row. */
export const MANIFEST_MAX_BYTES = MEGABYTE;

// Live sessions of flash

/** A session that is not renewed ends after this time; the client that opens it chooses a value in this range. */
export const LIVE_LEASE_SECONDS = { min: 30, max: 3_600 } as const;
/** Texts of local files in one live request, in bytes. */
export const LIVE_SOURCES_MAX_BYTES = 8 * 1024 * 1024;
/** Arguments of one live call, or the body of a request to a route, in bytes. */
export const LIVE_ARGUMENTS_MAX_BYTES = 10 * MEGABYTE;
