/** One of the objects at the edge that share the queue of an endpoint; 0 is the first. */
export type ShardRef = { readonly endpointId: string; readonly shard: number };
