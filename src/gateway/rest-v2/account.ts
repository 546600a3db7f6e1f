/** Public SSH keys of the account: `/v2/account/ssh-keys`. */
import * as z from "zod";
import {
  accountSettingsSchema,
  changeAccountSettings,
  readAccount,
} from "../../management/accounts/accounts.ts";
import { parsePatch } from "../rest/patch.ts";
import { v2Route } from "./route.ts";

/** One line of an authorized_keys file: type, key, comment. */
const keySchema = z
  .string()
  .regex(
    /^(?:ssh|ecdsa|sk)-[^\s]+ [^\s]+(?:[ \t][^\n\r]*)?$/,
    "must be a public key such as ssh-ed25519 AAAA… me@example.com",
  );
const keysSchema = z.object({ keys: z.array(z.string()) }).meta({ id: "SshKeys" });
const updateSchema = z.strictObject({ keys: z.array(keySchema).max(1_000) }).meta({ id: "SshKeysInput" });

export const accountRoutes = [
  v2Route({
    on: "GET /account/ssh-keys",
    id: "getSshKeys",
    summary: "List the public SSH keys of the account",
    answer: keysSchema,
    serve: async (request) => ({ keys: keysOf((await readAccount(request)).pubKey) }),
  }),
  v2Route({
    on: "PUT /account/ssh-keys",
    id: "updateSshKeys",
    summary: "Replace the public SSH keys of the account",
    errors: [400, 413, 422, 503],
    body: updateSchema,
    example: { keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample me@example.com"] },
    answer: keysSchema,
    serve: async (request, { body }) => {
      const settings = parsePatch(
        accountSettingsSchema,
        { pubKey: body.keys.join("\n\n") },
        { pubKey: "keys" },
      );
      return { keys: keysOf((await changeAccountSettings(request, settings)).pubKey) };
    },
  }),
];

/** Keys are stored with lines between them, as clients of GraphQL send them. */
function keysOf(pubKey: string | null): string[] {
  return (pubKey ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}
