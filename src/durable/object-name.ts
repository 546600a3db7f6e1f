/** The name under which a shard of an endpoint's object is reached; shard 0 always exists. */
export function shardName(endpointId: string, shard: number): string {
  return `${endpointId}#${shard}`;
}
