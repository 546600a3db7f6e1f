const HALF = 4;

/**
 * The short form of a login request's id, such as ABCD-EFGH: shown by the command and by the page in the browser, so
 * that a person sees that both are about the same login.
 */
export function loginCodeOf(requestId: string): string {
  return `${requestId.slice(0, HALF)}-${requestId.slice(HALF, 2 * HALF)}`;
}
