import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { query } from "../api/graphql.ts";
import { CHANGE_ENDPOINT, DELETE_ENDPOINT, type Endpoint } from "../api/operations.ts";
import { endpointQuery, overviewQuery } from "../api/queries.ts";
import { Card } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Form, useFields } from "../parts/fields.tsx";
import { readVariables, writeVariables } from "../parts/variables.ts";

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
  const { values, field, area, choice } = useFields({
    name: endpoint.name ?? "",
    imageName: endpoint.template?.imageName ?? "",
    dockerArgs: endpoint.template?.dockerArgs ?? "",
    env: writeVariables(endpoint.template?.env),
    workersMin: String(endpoint.workersMin ?? 0),
    workersMax: String(endpoint.workersMax ?? 0),
    idleTimeout: String(endpoint.idleTimeout ?? 0),
    scalerType: endpoint.scalerType ?? "QUEUE_DELAY",
    scalerValue: String(endpoint.scalerValue ?? 1),
    executionSeconds: String((endpoint.executionTimeoutMs ?? 0) / 1_000),
  });
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () => query(CHANGE_ENDPOINT, { id: endpoint.id, ...changesOf(values) }),
    onSuccess: () => cache.invalidateQueries(endpointQuery(endpoint.id ?? "")),
  });
  const count = (min: number) => ({ type: "number", min, required: true });
  return (
    <Form
      label="Save"
      isPending={isPending}
      error={error}
      onSubmit={mutate}
      notice={isSuccess ? "Saved." : undefined}
    >
      {field("name", "Name", { required: true, maxLength: 191 })}
      {field("imageName", "Image", { required: true, spellCheck: false })}
      {field("dockerArgs", "Start command", { spellCheck: false })}
      {area("env", "Variables", "One KEY=value per line; a secret as {{ RUNPOD_SECRET_name }}.")}
      <p className="text-sm text-quiet">
        Another image, command or variable makes a new version. Workers of the old one go on until new ones
        are ready.
      </p>
      {field("workersMin", "Workers at least", count(0))}
      {field("workersMax", "Workers at most", count(0))}
      {field("idleTimeout", "Seconds without a job until a worker stops", count(1))}
      {choice("scalerType", "Another worker starts by", SCALERS)}
      {field("scalerValue", "Seconds of waiting, or jobs per worker", count(1))}
      {field("executionSeconds", "Seconds that a job may run; 0 for the default", count(0))}
    </Form>
  );
}

function changesOf(
  values: Readonly<Record<"name" | "imageName" | "dockerArgs" | "scalerType", string>> & Numbers,
) {
  return {
    name: values.name,
    imageName: values.imageName,
    dockerArgs: values.dockerArgs,
    env: readVariables(values.env),
    workersMin: Number(values.workersMin),
    workersMax: Number(values.workersMax),
    idleTimeout: Number(values.idleTimeout),
    scalerType: values.scalerType,
    scalerValue: Number(values.scalerValue),
    executionTimeoutMs: Math.round(1_000 * Number(values.executionSeconds)),
  };
}

type Numbers = Readonly<
  Record<"env" | "workersMin" | "workersMax" | "idleTimeout" | "scalerValue" | "executionSeconds", string>
>;

const SCALERS = [
  { value: "QUEUE_DELAY", title: "how long jobs wait" },
  { value: "REQUEST_COUNT", title: "how many jobs there are" },
];

function Deletion({ endpointId, name }: { readonly endpointId: string; readonly name: string }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  return (
    <Card>
      <h2 className="mb-1 font-semibold">Delete this endpoint</h2>
      <p className="mb-3 text-sm text-quiet">Its workers stop, and its jobs are removed.</p>
      <ConfirmButton
        label="Delete"
        title={`Delete ${name}?`}
        explanation="Its workers stop, and its jobs and their results are removed. This cannot be undone."
        action={async () => {
          await query(DELETE_ENDPOINT, { id: endpointId });
          await navigate({ to: "/" });
          await cache.invalidateQueries(overviewQuery);
        }}
      />
    </Card>
  );
}
