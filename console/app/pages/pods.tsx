import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { START_POD, STOP_POD, type Pods } from "../api/operations.ts";
import { podsQuery } from "../api/queries.ts";
import { Ago, Button, Empty } from "../parts/basics.tsx";
import { dollars } from "../parts/format.ts";
import { ListPage } from "../parts/list-page.tsx";
import type { Column } from "../parts/table.tsx";

type Pod = NonNullable<NonNullable<NonNullable<Pods["myself"]>["pods"]>[number]>;

export function PodsPage() {
  const { data, error } = useQuery(podsQuery);
  return (
    <ListPage
      title="Pods"
      data={data}
      error={error}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No pod">
          <p>
            A pod is a container of your own that keeps running.{" "}
            <a href="/docs" className="text-accent underline">
              The API
            </a>{" "}
            makes one.
          </p>
        </Empty>
      }
    />
  );
}

const COLUMNS: readonly Column<Pod>[] = [
  { title: "Name", width: "minmax(7rem,2fr)", cell: ({ name }) => name },
  { title: "State", width: "6rem", cell: ({ desiredStatus }) => desiredStatus.toLowerCase() },
  { title: "Image", width: "minmax(6rem,2fr)", isMinor: true, cell: ({ imageName }) => imageName },
  {
    title: "GPU",
    width: "minmax(6rem,1fr)",
    isMinor: true,
    cell: ({ gpuCount, machine }) => (gpuCount ? `${gpuCount} × ${machine?.gpuDisplayName ?? "GPU"}` : "CPU"),
  },
  { title: "Per hour", width: "5rem", isMinor: true, cell: ({ costPerHr }) => dollars(costPerHr) },
  {
    title: "Started",
    width: "6.5rem",
    isMinor: true,
    cell: ({ lastStartedAt }) => <Ago at={lastStartedAt} />,
  },
  { title: "Change", width: "6rem", cell: (pod) => <Change pod={pod} /> },
];

/** A stopped pod keeps its volume, and can be started again. */
function Change({ pod }: { readonly pod: Pod }) {
  const cache = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (operation: "stop" | "start") => {
      if (operation === "stop") await query(STOP_POD, { id: pod.id });
      else await query(START_POD, { id: pod.id });
    },
    onSettled: () => cache.invalidateQueries(podsQuery),
  });
  const operation = pod.desiredStatus === "RUNNING" ? "stop" : "start";
  return (
    <Button disabled={isPending} title={error?.message} onClick={() => mutate(operation)}>
      {operation === "stop" ? "Stop" : "Start"}
    </Button>
  );
}
