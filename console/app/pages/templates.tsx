import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { query } from "../api/graphql.ts";
import { DELETE_TEMPLATE, type Templates } from "../api/operations.ts";
import { templatesQuery } from "../api/queries.ts";
import { Empty } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { ListPage } from "../parts/list-page.tsx";
import type { Column } from "../parts/table.tsx";
import { TemplateForm } from "./template.tsx";

type Template = NonNullable<NonNullable<NonNullable<Templates["myself"]>["podTemplates"]>[number]>;

export function TemplatesPage() {
  const { data, error } = useQuery(templatesQuery);
  return (
    <ListPage
      title="Templates"
      data={data?.podTemplates ?? (data ? [] : undefined)}
      error={error}
      columns={COLUMNS}
      keyOf={({ id }) => id ?? ""}
      empty={
        <Empty title="No template yet">
          <p>
            A template is an image with its command, its variables and its disk, from which endpoints and pods
            are made. A change of it makes a new version of each endpoint that uses it.
          </p>
        </Empty>
      }
    >
      {data ? <TemplateForm registries={data.containerRegistryCreds ?? []} /> : null}
    </ListPage>
  );
}

const COLUMNS: readonly Column<Template>[] = [
  {
    title: "Name",
    width: "minmax(7rem,2fr)",
    cell: ({ id, name }) => (
      <Link
        to="/templates/$templateId"
        params={{ templateId: id ?? "" }}
        className="font-medium text-accent hover:underline"
      >
        {name}
      </Link>
    ),
  },
  {
    title: "Image",
    width: "minmax(6rem,3fr)",
    isMinor: true,
    cell: ({ imageName }) => <code className="text-xs">{imageName}</code>,
  },
  { title: "For", width: "6rem", cell: ({ isServerless }) => (isServerless ? "endpoints" : "pods") },
  {
    title: "Disk",
    width: "5rem",
    isMinor: true,
    cell: ({ containerDiskInGb }) => `${containerDiskInGb} GB`,
  },
  { title: "Delete", width: "6rem", cell: ({ name }) => <Deletion name={name ?? ""} /> },
];

function Deletion({ name }: { readonly name: string }) {
  const cache = useQueryClient();
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${name}?`}
      explanation="It must not be in use. This cannot be undone."
      action={async () => {
        await query(DELETE_TEMPLATE, { templateName: name });
        await cache.invalidateQueries(templatesQuery);
      }}
    />
  );
}
