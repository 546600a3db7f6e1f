import {
  changeRegistryAuth,
  createRegistryAuth,
  deleteRegistryAuth,
  listOwnRegistryAuths,
  registryAuthCreationSchema,
  registryAuthDeletionSchema,
  registryAuthUpdateSchema,
} from "../../management/secrets/registry-auths.ts";
import { withArguments, withInput, withoutArguments } from "../context.ts";

export const registryAuthSdl = /* GraphQL */ `
  type Mutation {
    "Stores a login of an image registry encrypted; templates refer to it by containerRegistryAuthId."
    saveRegistryAuth(input: SaveRegistryAuthInput): ContainerRegistryAuth
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
    name: String
  }

  input SaveRegistryAuthInput {
    "At most 191 characters; need not be unique."
    name: String
    "At most 255 characters, without ':'."
    username: String
    "A password or access token of at most 16 KiB."
    password: String
  }
  input UpdateRegistryAuthInput {
    id: String
    "Replaces the stored one, together with password."
    username: String
    "Takes the place of the one before, together with username."
    password: String
  }
`;

export const registryAuthResolvers = {
  Mutation: {
    saveRegistryAuth: withInput(registryAuthCreationSchema, createRegistryAuth),
    updateRegistryAuth: withInput(registryAuthUpdateSchema, changeRegistryAuth),
    deleteRegistryAuth: withArguments(registryAuthDeletionSchema, (context, { registryAuthId }) =>
      deleteRegistryAuth(context, registryAuthId),
    ),
  },
  User: { containerRegistryCreds: withoutArguments(listOwnRegistryAuths) },
};
