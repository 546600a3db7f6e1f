import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { query } from "../api/graphql.ts";
import { SAVE_TEMPLATE, type Templates } from "../api/operations.ts";
import { templatesQuery } from "../api/queries.ts";
import { Failed, Loading, Title } from "../parts/basics.tsx";
import { Form, useFields } from "../parts/fields.tsx";
import { readVariables, writeVariables } from "../parts/variables.ts";

const route = getRouteApi("/signed-in/templates/$templateId");

type Account = NonNullable<Templates["myself"]>;
type Template = NonNullable<NonNullable<Account["podTemplates"]>[number]>;
type Registries = NonNullable<Account["containerRegistryCreds"]>;

export function TemplatePage() {
  const { templateId } = route.useParams();
  const { data, error } = useQuery(templatesQuery);
  const template = data?.podTemplates?.find((one) => one?.id === templateId);
  if (!data) return error ? <Failed title="Template" error={error} /> : <Loading />;
  if (!template) return <Failed title="Template" error={new Error(`There is no template ${templateId}.`)} />;
  return (
    <>
      <Title>{template.name}</Title>
      <TemplateForm template={template} registries={data.containerRegistryCreds ?? []} />
    </>
  );
}

type Props = { readonly template?: Template; readonly registries: Registries };

/** For a new template, or for one that is there. What is typed stays while the page reads again. */
export function TemplateForm({ template, registries }: Props) {
  const cache = useQueryClient();
  const { values, field, area, choice, reset } = useFields({
    name: template?.name ?? "",
    imageName: template?.imageName ?? "",
    dockerArgs: template?.dockerArgs ?? "",
    containerDiskInGb: String(template?.containerDiskInGb ?? 10),
    volumeInGb: String(template?.volumeInGb ?? 0),
    use: template?.isServerless === false ? "pods" : "endpoints",
    containerRegistryAuthId: template?.containerRegistryAuthId ?? "",
    env: writeVariables(template?.env),
  });
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () => {
      const { use, env, containerDiskInGb, volumeInGb, ...texts } = values;
      return query(SAVE_TEMPLATE, {
        ...texts,
        ...(template && { id: template.id }),
        containerDiskInGb: Number(containerDiskInGb),
        // Workers of endpoints have none.
        volumeInGb: use === "pods" ? Number(volumeInGb) : 0,
        isServerless: use === "endpoints",
        env: readVariables(env),
      });
    },
    onSuccess: async () => {
      await cache.invalidateQueries(templatesQuery);
      if (!template) reset();
    },
  });
  return (
    <Form
      {...(!template && { title: "New template" })}
      label={template ? "Save" : "Create"}
      isPending={isPending}
      error={error}
      onSubmit={mutate}
      notice={isSuccess && template ? "Saved." : undefined}
    >
      {field("name", "Name", { required: true, maxLength: 191 })}
      {field("imageName", "Image", { required: true, spellCheck: false, placeholder: "registry/image:tag" })}
      {field("dockerArgs", "Start command", { spellCheck: false })}
      {field("containerDiskInGb", "Disk, in GB", { type: "number", min: 1, required: true })}
      {choice("use", "For", USES)}
      {values.use === "pods"
        ? field("volumeInGb", "Volume that stays while the pod stops, in GB", {
            type: "number",
            min: 0,
            required: true,
          })
        : null}
      {choice("containerRegistryAuthId", "Login of the image's registry", [
        { value: "", title: "none" },
        ...registries.flatMap((one) => (one ? [{ value: one.id ?? "", title: one.name ?? "" }] : [])),
      ])}
      {area("env", "Variables", "One KEY=value per line; a secret as {{ RUNPOD_SECRET_name }}.")}
    </Form>
  );
}

const USES = [
  { value: "endpoints", title: "endpoints" },
  { value: "pods", title: "pods" },
];
