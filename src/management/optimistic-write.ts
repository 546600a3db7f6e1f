import { ServiceError } from "../contract/errors.ts";

const ATTEMPTS = 5;

/** Repeats "read, decide, write if unchanged" until nobody else wrote in between. */
export async function retryOnConflict<Row>(attempt: () => Promise<Row | undefined>): Promise<Row> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts += 1) {
    const row = await attempt();
    if (row !== undefined) return row;
  }
  throw new ServiceError("unavailable", "Others are changing the same record; please try again later.");
}
