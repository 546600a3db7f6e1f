import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { query } from "../api/graphql.ts";
import { CHANGE_ENDPOINT, DELETE_ENDPOINT, type Endpoint } from "../api/operations.ts";
import { endpointQuery, overviewQuery } from "../api/queries.ts";
import { Button, Card, Problem } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { useFields } from "../parts/fields.tsx";

const route = getRouteApi("/signed-in/endpoints/$endpointId/settings");

type Found = NonNullable<NonNullable<Endpoint["myself"]>["endpoint"]>;

export function SettingsTab() {
  const { endpointId } = route.useParams();
  const { data } = useQuery(endpointQuery(endpointId));
  if (!data) return null;
  return (
    <div className="max-w-xl space-y-6">
      <Change endpoint={data} />
      <Deletion endpointId={endpointId} name={data.name ?? endpointId} />
    </div>
  );
}

/** What is typed stays while the page reads again. */
function Change({ endpoint }: { readonly endpoint: Found }) {
  const cache = useQueryClient();
  const { values, field } = useFields({
    imageName: endpoint.template?.imageName ?? "",
    dockerArgs: endpoint.template?.dockerArgs ?? "",
    workersMin: String(endpoint.workersMin ?? 0),
    workersMax: String(endpoint.workersMax ?? 0),
    idleTimeout: String(endpoint.idleTimeout ?? 0),
  });
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () =>
      query(CHANGE_ENDPOINT, {
        id: endpoint.id,
        imageName: values.imageName,
        dockerArgs: values.dockerArgs,
        workersMin: Number(values.workersMin),
        workersMax: Number(values.workersMax),
        idleTimeout: Number(values.idleTimeout),
      }),
    onSuccess: () => cache.invalidateQueries(endpointQuery(endpoint.id ?? "")),
  });
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      {field("imageName", "Image", { required: true, spellCheck: false })}
      {field("dockerArgs", "Start command", { spellCheck: false })}
      {field("workersMin", "Workers at least", { type: "number", min: 0, required: true })}
      {field("workersMax", "Workers at most", { type: "number", min: 0, required: true })}
      {field("idleTimeout", "Seconds without a job until a worker stops", {
        type: "number",
        min: 1,
        required: true,
      })}
      <p className="text-sm text-quiet">
        Another image or command makes a new version. Workers of the old one go on until new ones are ready.
      </p>
      <Button type="submit" tone="accent" disabled={isPending}>
        {isPending ? "Saving …" : "Save"}
      </Button>
      <span role="status" className="ml-3 text-sm text-good">
        {isSuccess ? "Saved." : ""}
      </span>
      <Problem error={error} />
    </form>
  );
}

function Deletion({ endpointId, name }: { readonly endpointId: string; readonly name: string }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => query(DELETE_ENDPOINT, { id: endpointId }),
    onSuccess: async () => {
      await navigate({ to: "/" });
      await cache.invalidateQueries(overviewQuery);
    },
  });
  return (
    <Card>
      <h2 className="mb-1 font-semibold">Delete this endpoint</h2>
      <p className="mb-3 text-sm text-quiet">Its workers stop, and its jobs are removed.</p>
      <ConfirmButton
        label="Delete"
        title={`Delete ${name}?`}
        explanation="Its workers stop, and its jobs and their results are removed. This cannot be undone."
        isPending={isPending}
        onConfirm={() => mutate()}
      />
      <Problem error={error} />
    </Card>
  );
}
