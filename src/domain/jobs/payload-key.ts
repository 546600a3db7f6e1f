/**
 * Where large payloads are kept. Every key begins with the endpoint, so they go together when it is deleted,
 * and ends in what cannot be guessed: a random name, or a job id.
 */
export function payloadPrefix(endpointId: string): string {
  return `jobs/${endpointId}/`;
}

export function payloadKey(endpointId: string, randomName: string): string {
  return `${payloadPrefix(endpointId)}${randomName}`;
}

/** An attempt has one place for its result, so whoever knows the attempt can remove it, stored or not. */
export function resultKey(endpointId: string, jobId: string, attempt: number): string {
  return `${payloadPrefix(endpointId)}${jobId}/${attempt}`;
}
