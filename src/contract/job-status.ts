/** The statuses that clients see of a job. Without a schema, so that pages in browsers import the list as it is. */
export const WIRE_STATUSES = [
  "IN_QUEUE",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "TIMED_OUT",
] as const;
export type WireStatus = (typeof WIRE_STATUSES)[number];
