/** Operations on live sessions, which are environments with a lease. */
import * as z from "zod";
import { type Operation, ServiceError } from "./service.ts";

const string = z.string();

function operation<Shape extends z.ZodRawShape>(document: string, shape: Shape) {
  return { document, schema: z.object(shape) } satisfies Operation<z.ZodObject<Shape>>;
}

/** Without a token where somebody else looks, and where the environment is a lasting one. */
const sessionSchema = z.object({ id: string, name: string, leaseExpiresAt: string, liveToken: string });
export type OpenedSession = z.infer<typeof sessionSchema>;

const SESSION_FIELDS = "id name leaseExpiresAt liveToken";

export const createSession = operation(
  `mutation ($input: CreateFlashEnvironmentInput) { createFlashEnvironment(input: $input) { ${SESSION_FIELDS} } }`,
  { createFlashEnvironment: sessionSchema },
);

/** Refused once the lease has lapsed. */
export const renewLease = operation(
  `mutation ($input: RenewFlashEnvironmentLeaseInput) {
    renewFlashEnvironmentLease(input: $input) { ${SESSION_FIELDS} }
  }`,
  { renewFlashEnvironmentLease: sessionSchema },
);

/** The session is no more: deleted, or its lease has lapsed. */
export function isSessionNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "FLASH_ENVIRONMENT_NOT_FOUND";
}
