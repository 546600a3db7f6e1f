/** What a link needs of the workers: who takes requests, and where their servers listen. */

/** Leave to send one request to a worker's server; the worker is neither drained nor frozen until it is given back. */
export type Entry = { readonly host: string; readonly port: number; readonly leave: () => void };

export type Doors = {
  /** Workers of the endpoint that take requests now. */
  open(endpointId: string): readonly string[];
  /** Null when the worker takes no requests. `turnOut`: ends the request at once, for the worker waits no longer. */
  enter(endpointId: string, workerId: string, turnOut: () => void): Entry | null;
  /** A connection to the worker's server has failed: its health is looked at now. */
  suspect(endpointId: string, workerId: string): void;
  /** Its server takes no connections: the worker takes no requests until its health is seen to be good. */
  refused(endpointId: string, workerId: string): void;
};
