import * as z from "zod";
import {
  changeRegistryAuth,
  checkRegistryAuthCreation,
  createRegistryAuth,
  deleteRegistryAuth,
  listOwnRegistryAuths,
} from "../../management/secrets/registry-auths.ts";
import { idSchema } from "../../management/input-schemas.ts";
import { inputSdl, typeSdl } from "../../management/nouns/field.ts";
import {
  loginFields,
  registryAuthCreationSchema,
  registryAuthFields,
  registryAuthNameField,
  registryAuthUpdateSchema,
} from "../../management/nouns/registry-auth.ts";
import { dryRunSdl, withArguments, withDryRun, withInput, withoutArguments } from "../context.ts";

export const registryAuthSdl = /* GraphQL */ `
  type Mutation {
    "Stores a login of an image registry encrypted; templates refer to it by containerRegistryAuthId."
    saveRegistryAuth(
      input: SaveRegistryAuthInput
      ${dryRunSdl}
    ): ContainerRegistryAuth
    "Replaces user name and password; the next pull uses them."
    updateRegistryAuth(input: UpdateRegistryAuthInput): ContainerRegistryAuth
    "Refused with REGISTRY_AUTH_IN_USE while a template names it."
    deleteRegistryAuth(registryAuthId: String): Void
  }

  type User {
    "Oldest first; user name and password are never returned."
    containerRegistryCreds: [ContainerRegistryAuth]
  }

  type ContainerRegistryAuth {
    id: String
    ${typeSdl(registryAuthNameField)}
  }

  input SaveRegistryAuthInput {
    ${inputSdl(registryAuthFields)}
  }
  "Both replace the stored ones together."
  input UpdateRegistryAuthInput {
    id: String
    ${inputSdl(loginFields)}
  }
`;

const deletionSchema = z.object({ registryAuthId: idSchema });

export const registryAuthResolvers = {
  Mutation: {
    saveRegistryAuth: withDryRun(registryAuthCreationSchema, checkRegistryAuthCreation, createRegistryAuth),
    updateRegistryAuth: withInput(registryAuthUpdateSchema, changeRegistryAuth),
    deleteRegistryAuth: withArguments(deletionSchema, (context, { registryAuthId }) =>
      deleteRegistryAuth(context, registryAuthId),
    ),
  },
  User: { containerRegistryCreds: withoutArguments(listOwnRegistryAuths) },
};
