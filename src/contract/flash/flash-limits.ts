/** The numbers of flash: apps and their builds, live sessions, and files of apps on a host; each with its unit. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MEGABYTE = 1_000_000;

// Flash apps

/** Of a deployment artifact, packed: 1.5 GB in decimal units. */
export const ARTIFACT_MAX_BYTES = 1_500 * MEGABYTE;
/** Of each part of an upload but the last: R2 wants them equal, and a small artifact loses less with small ones. */
export const ARTIFACT_PART_BYTES = { min: 8 * 1024 * 1024, max: 64 * 1024 * 1024 } as const;
/** Into which an artifact is cut, as long as that makes neither larger nor smaller ones. */
export const ARTIFACT_PARTS_TARGET = 16;
/** How long an upload may be resumed. */
export const ARTIFACT_UPLOAD_TTL_MS = DAY;
/** For which the address of a stored artifact opens it. */
export const ARTIFACT_DOWNLOAD_TTL_MS = HOUR;
/** As text; a manifest is one row. */
export const MANIFEST_MAX_BYTES = MEGABYTE;
export const FLASH_APPS_MAX = 500;
/** Of one app. */
export const FLASH_ENVIRONMENTS_MAX = 100;
/** Artifacts of an account, in GB, unless ARTIFACT_STORAGE_GB is set; open uploads count in full. */
export const ARTIFACT_STORAGE_DEFAULT_GB = 200;
/** Artifacts of an account that were announced and are not yet builds. */
export const FLASH_UPLOADS_MAX = 500;
/** Objects of uploads that ended which one maintenance run removes at most. */
export const ARTIFACTS_REMOVED_AT_ONCE = 100;
/** Manifests that one document may ask for: each may be as large as a body. */
export const FLASH_MANIFESTS_AT_ONCE = 20;
/** Builds of an app that no environment uses: the newest are kept, so that a user can roll back. */
export const FLASH_BUILDS_RETAINED = 20;
/** How long an edge location caches which endpoint an app calls by a name: each deployment may change it. */
export const FLASH_URL_CACHE_MS = 5 * SECOND;
/** How long a login in the browser waits for the user. */
export const FLASH_AUTH_TTL_MS = 10 * MINUTE;
/** How long an expired login is remembered, so that its client learns what became of it. */
export const FLASH_AUTH_RETENTION_MS = HOUR;
/** Length to which the name that a client gives itself is cut. */
export const FLASH_AUTH_CLIENT_MAX_CHARACTERS = 200;

// Live sessions of flash

/** A session that is not renewed ends after this time; the client that opens it chooses a value in this range. */
export const LIVE_LEASE_SECONDS = { min: 30, max: 3_600 } as const;
/** Texts of local files in one live request, in bytes. */
export const LIVE_SOURCES_MAX_BYTES = 8 * 1024 * 1024;
/** Arguments of one live call, or the body of a request to a route, in bytes. */
export const LIVE_ARGUMENTS_MAX_BYTES = 10 * MEGABYTE;
/** Sessions whose lease has lapsed which one maintenance run ends at most. */
export const LIVE_SESSIONS_ENDED_AT_ONCE = 20;

// Files of apps on a host

/** Of an artifact when it is unpacked, in bytes: the largest ones are five times smaller packed. */
export const ARTIFACT_UNPACKED_MAX_BYTES = 10_000 * MEGABYTE;
/** Files, directories and links in an artifact. */
export const ARTIFACT_ENTRIES_MAX = 500_000;
/** Free disk that a host requires before a download, as a multiple of the packed artifact. */
export const ARTIFACT_DISK_FACTOR = 4;
/** Time without a byte after which the download of an artifact continues with another call. */
export const ARTIFACT_STALL_MS = 30 * SECOND;
