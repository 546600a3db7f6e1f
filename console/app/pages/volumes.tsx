import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { CREATE_VOLUME, DELETE_VOLUME, GROW_VOLUME, type Volumes } from "../api/operations.ts";
import { volumesQuery } from "../api/queries.ts";
import { Button, Empty, inputClass } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Form, useFields } from "../parts/fields.tsx";
import { ListPage } from "../parts/list-page.tsx";
import type { Column } from "../parts/table.tsx";

type Volume = NonNullable<NonNullable<NonNullable<Volumes["myself"]>["networkVolumes"]>[number]>;

const SIZE_MAX_GB = 4_096;

export function VolumesPage() {
  const { data, error } = useQuery(volumesQuery);
  return (
    <ListPage
      title="Volumes"
      data={data && (data.myself?.networkVolumes ?? [])}
      error={error}
      columns={COLUMNS}
      keyOf={({ id }) => id ?? ""}
      empty={
        <Empty title="No volume yet">
          <p>
            A network volume is a folder that the workers of an endpoint share, and that stays when they end.
            It is bound to a data center.
          </p>
        </Empty>
      }
    >
      {data ? <NewVolume dataCenters={data.dataCenters ?? []} /> : null}
    </ListPage>
  );
}

function NewVolume({ dataCenters }: { readonly dataCenters: NonNullable<Volumes["dataCenters"]> }) {
  const cache = useQueryClient();
  const options = dataCenters.flatMap((one) =>
    one ? [{ value: one.id ?? "", title: `${one.id}: ${one.location}` }] : [],
  );
  const { values, field, choice, reset } = useFields({
    name: "",
    size: "10",
    dataCenterId: options[0]?.value ?? "",
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => query(CREATE_VOLUME, { ...values, size: Number(values.size) }),
    onSuccess: async () => {
      reset();
      await cache.invalidateQueries(volumesQuery);
    },
  });
  return (
    <Form title="New volume" label="Create" isPending={isPending} error={error} onSubmit={mutate}>
      {field("name", "Name", { required: true, maxLength: 191 })}
      {field("size", "Size, in GB", { type: "number", min: 1, max: SIZE_MAX_GB, required: true })}
      {choice("dataCenterId", "Data center", options)}
    </Form>
  );
}

const COLUMNS: readonly Column<Volume>[] = [
  { title: "Name", width: "minmax(6rem,2fr)", cell: ({ name }) => name },
  {
    title: "Id",
    width: "minmax(6rem,1fr)",
    isMinor: true,
    cell: ({ id }) => <code className="text-xs">{id}</code>,
  },
  { title: "Data center", width: "7rem", isMinor: true, cell: ({ dataCenterId }) => dataCenterId },
  { title: "Size in GB", width: "10rem", cell: (volume) => <Size volume={volume} /> },
  { title: "Delete", width: "6rem", cell: (volume) => <Deletion volume={volume} /> },
];

/** A volume grows, and never shrinks. */
function Size({ volume: { id, name, size } }: { readonly volume: Volume }) {
  const cache = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: (changed: number) => query(GROW_VOLUME, { id, size: changed }),
    onSettled: () => cache.invalidateQueries(volumesQuery),
  });
  return (
    <form
      key={size}
      className="flex items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        mutate(Number(new FormData(event.currentTarget).get("size")));
      }}
    >
      <input
        name="size"
        type="number"
        aria-label={`Size of ${name} in GB`}
        min={size ?? 1}
        max={SIZE_MAX_GB}
        required
        defaultValue={size ?? 1}
        className={inputClass}
      />
      <Button type="submit" disabled={isPending} title={error?.message ?? "It grows, and never shrinks."}>
        Grow
      </Button>
    </form>
  );
}

function Deletion({ volume: { id, name } }: { readonly volume: Volume }) {
  const cache = useQueryClient();
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${name}?`}
      explanation="Its files are removed from the hosts. It must not be in use. This cannot be undone."
      action={async () => {
        await query(DELETE_VOLUME, { id });
        await cache.invalidateQueries(volumesQuery);
      }}
    />
  );
}
