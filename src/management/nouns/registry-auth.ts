/** What clients set of the credentials of an image registry. */
import * as z from "zod";
import { nameSchema as restNameSchema } from "../../contract/rest/rest.ts";
import { idSchema, nameSchema, stringSchema } from "../input-schemas.ts";
import { patchShape, restInput, restOutput, type Fields } from "./field.ts";

const USERNAME_MAX_CHARACTERS = 255;
/** Some registries take a whole key file for a password. */
const PASSWORD_MAX_BYTES = 16 * 1024;

const filled = z.string("must be a string").min(1, "must not be empty");
const restFilled = stringSchema.min(1, "must not be empty");

/** What is shown of credentials. */
export const registryAuthNameField = {
  name: {
    type: "String",
    input: "At most 191 characters; need not be unique.",
    patch: nameSchema,
    rest: { creation: restNameSchema.meta({ example: "ghcr" }), output: z.string() },
    v2: { name: "name", creation: nameSchema.meta({ example: "ghcr" }), output: z.string() },
  },
} satisfies Fields;

/** User name and password are sealed as one, so a change has both. No operation returns them. */
export const loginFields = {
  username: {
    type: "String",
    input: "At most 255 characters, without ':'.",
    patch: filled
      .max(USERNAME_MAX_CHARACTERS, `must have at most ${USERNAME_MAX_CHARACTERS} characters`)
      .refine((username) => !username.includes(":"), { error: "must not contain ':'" }),
    rest: { creation: restFilled },
    v2: { name: "username", creation: restFilled },
  },
  password: {
    type: "String",
    input: "A password or access token of at most 16 KiB; never shown again.",
    patch: filled.refine((password) => new TextEncoder().encode(password).length <= PASSWORD_MAX_BYTES, {
      error: `must have at most ${PASSWORD_MAX_BYTES} bytes (UTF-8)`,
    }),
    rest: { creation: restFilled.meta({ format: "password" }) },
    v2: { name: "password", creation: restFilled.meta({ format: "password" }) },
  },
} satisfies Fields;

export const registryAuthFields = { ...registryAuthNameField, ...loginFields } satisfies Fields;

export const registryAuthCreationSchema = z.object(patchShape(registryAuthFields));
export const registryAuthUpdateSchema = z.object({ id: idSchema, ...patchShape(loginFields) });

/** Body of `POST /v1/containerregistryauth`. */
export const registryAuthCreateSchema = z
  .object(restInput(registryAuthFields, "creation"))
  .meta({ id: "ContainerRegistryAuthCreateInput" });

/** Credentials as REST v1 shows them. */
export const registryAuthSchema = z
  .object({
    id: z.string().meta({ example: "clzdaifot0001l90809257ynb" }),
    ...restOutput(registryAuthFields),
  })
  .meta({ id: "ContainerRegistryAuth" });
