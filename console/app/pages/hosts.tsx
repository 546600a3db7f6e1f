import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { query } from "../api/graphql.ts";
import { ADD_HOST, UPDATE_HOST, type Hosts } from "../api/operations.ts";
import { hostsQuery } from "../api/queries.ts";
import { Ago, Button, Card, Copyable, Empty, Loading, Problem, Title } from "../parts/basics.tsx";
import { dollars, gigabytes, plural } from "../parts/format.ts";

type Host = NonNullable<NonNullable<NonNullable<Hosts["myself"]>["hosts"]>[number]>;

export function HostsPage() {
  const [isAdding, setAdding] = useState(false);
  const { data, error } = useQuery(hostsQuery);
  const hosts = (data ?? []).flatMap((host) => host ?? []);
  return (
    <>
      <Title
        actions={
          <Button tone="accent" onClick={() => setAdding(true)} disabled={isAdding}>
            Add host
          </Button>
        }
      >
        Hosts
      </Title>
      <Problem error={error} />
      {isAdding && data ? <AddHost known={hosts} /> : null}
      {!data && !error ? <Loading /> : null}
      {data && hosts.length === 0 && !isAdding ? (
        <Empty title="No host yet">
          <p>
            A host is a Linux machine with GPUs that calls this edge; nothing has to reach it. Add one to run
            jobs.
          </p>
        </Empty>
      ) : null}
      <div className="grid gap-4 lg:grid-cols-2">
        {hosts.map((host) => (
          <HostCard key={host.id} host={host} />
        ))}
      </div>
    </>
  );
}

/** The line to run on the host; says so when a host has joined. */
function AddHost({ known }: { readonly known: readonly Host[] }) {
  const [before] = useState(() => new Set(known.map(({ id }) => id)));
  const joined = known.find(({ id }) => !before.has(id));
  const { data, error } = useQuery({
    queryKey: ["join-token"],
    queryFn: async () => (await query(ADD_HOST, {})).joinTokenCreate,
    staleTime: Infinity,
    gcTime: 0,
  });
  return (
    <div className="mb-4">
      <Card>
        <h2 className="mb-2 font-semibold">Run this on the host, as root</h2>
        <Problem error={error} />
        {data?.installCommand ? <Copyable text={data.installCommand} label="Install command" /> : null}
        <p role="status" className="mt-2 text-sm text-quiet">
          {joined ? `${joined.name} has joined.` : "Waiting for the host to join …"}
        </p>
      </Card>
    </div>
  );
}

function HostCard({ host }: { readonly host: Host }) {
  const { telemetry } = host;
  return (
    <Card aria-label={host.name ?? "host"}>
      <div className="mb-3 flex flex-wrap items-baseline justify-between gap-2">
        <h2 className="min-w-0 font-semibold break-words">{host.name}</h2>
        <span className={`text-sm ${host.isPresent ? "text-good" : "text-bad"}`}>
          {stateOf(host)}{" "}
          <span className="text-quiet">
            <Ago at={host.lastSeenAt} />
          </span>
        </span>
      </div>
      <p className="mb-2 text-sm text-quiet">
        {[host.dataCenterId, plural(host.workers ?? 0, "worker"), `agent ${host.agentVersion ?? "?"}`]
          .filter(Boolean)
          .join(", ")}
        {host.price?.perHour ? `, ${dollars(host.price.perHour)} per hour` : ""}
      </p>
      <GpuGrid host={host} />
      {telemetry ? (
        <p className="mt-3 text-sm text-quiet">
          CPU {Math.round(telemetry.cpuPercent ?? 0)} %, memory {gigabytes(telemetry.memoryUsedMb)} of{" "}
          {gigabytes(telemetry.memoryTotalMb)}, disk {gigabytes(telemetry.diskUsedMb)} of{" "}
          {gigabytes(telemetry.diskTotalMb)}
        </p>
      ) : null}
      <HostActions host={host} />
    </Card>
  );
}

function stateOf({ isPresent, drained, cordoned, isAgentRefused }: Host): string {
  if (!isPresent) return "not connected";
  if (isAgentRefused) return "agent too old";
  if (drained) return "drained";
  return cordoned ? "cordoned" : "connected";
}

function GpuGrid({ host }: { readonly host: Host }) {
  const measured = host.telemetry?.gpus ?? [];
  return (
    <ul className="m-0 grid list-none gap-2 p-0 sm:grid-cols-2">
      {(host.gpus ?? []).map((gpu, index) => (
        <li key={index} className="rounded-md bg-raised p-2 text-sm">
          <span className="font-medium">{gpu?.name}</span>
          <span className="block text-quiet">
            {gpu?.free} of {gpu?.total} free{gpu?.isSimulated ? ", simulated" : ""}
          </span>
        </li>
      ))}
      {measured.map((gpu) => (
        <li key={`load-${gpu?.index}`} className="rounded-md bg-raised p-2 text-sm">
          <span className="font-medium">GPU {gpu?.index}</span>
          <meter
            aria-label={`Load of GPU ${gpu?.index}`}
            className="block w-full"
            min={0}
            max={100}
            value={gpu?.utilizationPercent ?? 0}
          />
          <span className="text-quiet">
            {Math.round(gpu?.utilizationPercent ?? 0)} %, {gigabytes(gpu?.memoryUsedMb)} of{" "}
            {gigabytes(gpu?.memoryTotalMb)}, {gpu?.temperatureC ?? "–"} °C
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Both say what they do, and can be taken back. */
function HostActions({ host }: { readonly host: Host }) {
  const cache = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: (change: { readonly cordoned?: boolean; readonly drained?: boolean }) =>
      query(UPDATE_HOST, { id: host.id, ...change }),
    onSuccess: () => cache.invalidateQueries(hostsQuery),
  });
  const { cordoned, drained } = host;
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      <Button
        disabled={isPending}
        title="A cordoned host gets no new workers; those on it stay."
        onClick={() => mutate({ cordoned: !cordoned })}
      >
        {cordoned ? "Uncordon" : "Cordon"}
      </Button>
      <Button
        disabled={isPending}
        title="Workers of a drained host end after their jobs and start elsewhere."
        onClick={() => mutate({ drained: !drained })}
      >
        {drained ? "Take back into service" : "Drain"}
      </Button>
      <Problem error={error} />
    </div>
  );
}
