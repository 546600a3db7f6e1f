/** The calls for templates of each public API, and what their answers show. */
import type { Answer } from "./client.ts";

/** What clients change of a template: its image in one call, its disk and variable in another. */
export type TemplatePatch = { readonly image?: number; readonly sizes?: number };

/** Of a template, as an API shows it; the readme only where that API has it. */
export type ShownTemplate = {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly disk: number;
  readonly variable: string | undefined;
  readonly readme: string | undefined;
};

export type TemplateCall = { readonly method: string; readonly path: string; readonly body?: unknown };

export type TemplateSurface = {
  readonly name: string;
  readonly create: (name: string) => TemplateCall;
  readonly change: (id: string, patch: TemplatePatch) => TemplateCall;
  readonly read: (id: string) => TemplateCall;
  readonly remove: (template: ShownTemplate) => TemplateCall;
  /** Null for one that is not there, undefined for an answer that says neither. */
  readonly shown: (answer: Answer) => ShownTemplate | null | undefined;
};

export const README = "stays";
const VARIABLE = "NUMBER";
const FIRST: TemplatePatch = { image: 0, sizes: 0 };
const GRAPHQL_FIELDS = "{ id name imageName containerDiskInGb env { key value } readme }";

export const imageOf = (number: number): string => `templates/image:${number}`;
export const diskOf = (number: number): number => 5 + number;

const graphql: TemplateSurface = {
  name: "GraphQL",
  create: (name) => save({ name, readme: README, isServerless: true, volumeInGb: 0, ...listed(FIRST) }),
  change: (id, patch) => save({ id, ...listed(patch) }),
  read: (id) => query(`query ($id: String) { template: podTemplate(id: $id) ${GRAPHQL_FIELDS} }`, { id }),
  remove: ({ name }) =>
    query("mutation ($name: String) { removed: deleteTemplate(templateName: $name) }", { name }),
  shown: ({ status, body }) => {
    if (JSON.stringify(body["errors"] ?? "").includes("TEMPLATE_NOT_FOUND")) return null;
    if (status !== 200 || body["errors"] !== undefined) return undefined;
    const { template } = body["data"] as { readonly template?: GraphqlTemplate | null };
    if (!template) return null;
    const { imageName: image, containerDiskInGb: disk, env, ...rest } = template;
    return { ...rest, image, disk, variable: env.find(({ key }) => key === VARIABLE)?.value };
  },
};

const restV1: TemplateSurface = {
  name: "REST v1",
  create: (name) => post("/v1/templates", { name, readme: README, isServerless: true, ...named(FIRST) }),
  change: (id, patch) => ({ method: "PATCH", path: `/v1/templates/${id}`, body: named(patch) }),
  read: (id) => ({ method: "GET", path: `/v1/templates/${id}` }),
  remove: ({ id }) => ({ method: "DELETE", path: `/v1/templates/${id}` }),
  shown: ({ status, body }) => {
    if (status !== 200) return status === 404 ? null : undefined;
    const { id, name, imageName: image, containerDiskInGb: disk, env, readme } = body as RestV1Template;
    return { id, name, image, disk, variable: env[VARIABLE], readme };
  },
};

/** It has no readme. */
const restV2: TemplateSurface = {
  name: "REST v2",
  create: (name) => post("/v2/templates", { name, serverless: true, ...brief(FIRST) }),
  change: (id, patch) => ({ method: "PATCH", path: `/v2/templates/${id}`, body: brief(patch) }),
  read: (id) => ({ method: "GET", path: `/v2/templates/${id}` }),
  remove: ({ id }) => ({ method: "DELETE", path: `/v2/templates/${id}` }),
  shown: ({ status, body }) => {
    if (status !== 200) return status === 404 ? null : undefined;
    const { id, name, image, disk, env } = body as RestV2Template;
    return { id, name, image, disk, variable: env[VARIABLE], readme: undefined };
  },
};

export const TEMPLATE_SURFACES: readonly TemplateSurface[] = [graphql, restV1, restV2];
/** Those that make templates with a readme. */
export const CREATING_SURFACES: readonly TemplateSurface[] = [graphql, restV1];

type Named = { readonly id: string; readonly name: string };
type Variable = { readonly key: string; readonly value: string };
type Variables = Readonly<Record<string, string | undefined>>;
type Container = { readonly imageName: string; readonly containerDiskInGb: number; readonly readme: string };
type GraphqlTemplate = Named & Container & { readonly env: readonly Variable[] };
type RestV1Template = Named & Container & { readonly env: Variables };
type RestV2Template = Named & { readonly image: string; readonly disk: number; readonly env: Variables };

function listed({ image, sizes }: TemplatePatch): object {
  const env = [{ key: VARIABLE, value: String(sizes) }];
  return { ...imageNamed(image), ...(sizes === undefined ? {} : { containerDiskInGb: diskOf(sizes), env }) };
}

function named({ image, sizes }: TemplatePatch): object {
  const env = { [VARIABLE]: String(sizes) };
  return { ...imageNamed(image), ...(sizes === undefined ? {} : { containerDiskInGb: diskOf(sizes), env }) };
}

function brief({ image, sizes }: TemplatePatch): object {
  const env = { [VARIABLE]: String(sizes) };
  return {
    ...(image === undefined ? {} : { image: imageOf(image) }),
    ...(sizes === undefined ? {} : { disk: diskOf(sizes), env }),
  };
}

function imageNamed(image: number | undefined): object {
  return image === undefined ? {} : { imageName: imageOf(image) };
}

function save(input: object): TemplateCall {
  return query(
    `mutation ($input: SaveTemplateInput) { template: saveTemplate(input: $input) ${GRAPHQL_FIELDS} }`,
    { input },
  );
}

function query(text: string, variables: object): TemplateCall {
  return post("/graphql", { query: text, variables });
}

function post(path: string, body: object): TemplateCall {
  return { method: "POST", path, body };
}
