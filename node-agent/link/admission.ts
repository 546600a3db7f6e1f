/** What a link needs of the workers: which take requests, and where their servers listen. */

/** Leave to send one request to a worker's server; the worker is neither drained nor frozen until it is given back. */
export type Admission = {
  readonly host: string;
  readonly port: number;
  /** No other worker can take the request, as for a pod. */
  readonly isOnly?: true;
  readonly release: () => void;
};

/** What a client calls the one whose server it is. */
export function nounOf({ isOnly }: Pick<Admission, "isOnly">): "pod" | "worker" {
  return isOnly ? "pod" : "worker";
}

export type AdmissionControl = {
  /** Workers of the endpoint that take requests now. */
  openWorkers(endpointId: string): readonly string[];
  /**
   * Null when the worker takes no requests. `evict`: ends the request at once, for the worker waits no longer.
   * `port`: that of a pod; absent for a worker.
   */
  admit(endpointId: string, workerId: string, evict: () => void, port?: number): Admission | null;
  /** A connection to the worker's server has failed: its health is checked at once. */
  connectionFailed(endpointId: string, workerId: string): void;
  /** Its server takes no connections: the worker takes no requests until its health is seen to be good. */
  connectionRefused(endpointId: string, workerId: string): void;
};
