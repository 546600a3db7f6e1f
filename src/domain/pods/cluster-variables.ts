/** Variables by which the pods of a cluster find each other. Names are those that images of this kind of service read. */

/** What torchrun takes where it is told nothing. */
const PRIMARY_PORT = "29500";

/** `address`: of the pod; `primaryAddress`: of the first pod of its cluster, null when that is gone. */
export function clusterVariables({
  address,
  primaryAddress,
}: {
  readonly address: string;
  readonly primaryAddress: string | null;
}): Record<string, string> {
  if (primaryAddress === null) return { NODE_ADDR: address };
  return {
    NODE_ADDR: address,
    PRIMARY_ADDR: primaryAddress,
    MASTER_ADDR: primaryAddress,
    PRIMARY_PORT,
    MASTER_PORT: PRIMARY_PORT,
    HOST_NODE_ADDR: `${primaryAddress}:${PRIMARY_PORT}`,
  };
}
