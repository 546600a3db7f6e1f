import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { query } from "../api/graphql.ts";
import { CREATE_ENDPOINT, GPU_POOLS } from "../api/operations.ts";
import { overviewQuery } from "../api/queries.ts";
import { Button, inputClass, Problem, Title } from "../parts/basics.tsx";
import { Field } from "../parts/fields.tsx";

const FRESH = { name: "", imageName: "", dockerArgs: "", gpuIds: "ADA_24", workersMax: "3" };

export function NewEndpoint() {
  const [values, setValues] = useState(FRESH);
  const navigate = useNavigate();
  const cache = useQueryClient();
  const pools = useQuery({
    queryKey: ["gpu-pools"],
    queryFn: async ({ signal }) => (await query(GPU_POOLS, {}, signal)).serverlessGpuPools ?? [],
    staleTime: Infinity,
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => query(CREATE_ENDPOINT, { ...values, workersMax: Number(values.workersMax) }),
    onSuccess: async ({ saveEndpoint }) => {
      await cache.invalidateQueries(overviewQuery);
      if (saveEndpoint?.id) {
        await navigate({ to: "/endpoints/$endpointId/run", params: { endpointId: saveEndpoint.id } });
      }
    },
  });
  const field = (name: keyof typeof FRESH) => ({
    id: name,
    className: inputClass,
    value: values[name],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      setValues({ ...values, [name]: event.target.value }),
  });
  return (
    <>
      <Title>New endpoint</Title>
      <form
        className="max-w-xl space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          mutate();
        }}
      >
        <Field name="name" label="Name">
          <input {...field("name")} required maxLength={191} />
        </Field>
        <Field
          name="imageName"
          label="Image"
          hint="What a worker runs. Without Docker, npm start runs edgerun/process."
        >
          <input {...field("imageName")} required spellCheck={false} placeholder="registry/image:tag" />
        </Field>
        <Field name="dockerArgs" label="Start command" hint="Optional: replaces the command of the image.">
          <input {...field("dockerArgs")} spellCheck={false} />
        </Field>
        <Field name="gpuIds" label="GPU">
          <select {...field("gpuIds")}>
            {(pools.data ?? [{ id: FRESH.gpuIds, gpuTypeIds: [] }]).map((pool) => (
              <option key={pool?.id} value={pool?.id ?? ""}>
                {pool?.id}: {(pool?.gpuTypeIds ?? []).join(", ")}
              </option>
            ))}
          </select>
        </Field>
        <Field name="workersMax" label="Workers at most" hint="It has none while there is no job.">
          <input {...field("workersMax")} type="number" min={0} required />
        </Field>
        <Button type="submit" tone="accent" disabled={isPending}>
          {isPending ? "Creating …" : "Create"}
        </Button>
        <Problem error={error} />
      </form>
    </>
  );
}
