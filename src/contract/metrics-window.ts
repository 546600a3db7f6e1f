/** The spans of time that metrics cover. Without a schema, so that pages in browsers import the list as it is. */
export const METRICS_WINDOWS = ["5m", "1h", "24h", "7d"] as const;
export type MetricsWindow = (typeof METRICS_WINDOWS)[number];
