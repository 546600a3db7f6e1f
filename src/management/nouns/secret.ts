/** What clients set of a secret. */
import * as z from "zod";
import { NAME_MAX_CHARACTERS } from "../../contract/limits.ts";
import { SECRET_NAME } from "../../domain/accounts/secret-reference.ts";
import { clearable, idSchema } from "../input-schemas.ts";
import { patchShape, type Fields } from "./field.ts";

const VALUE_MAX_BYTES = 64 * 1024;
const DESCRIPTION_MAX_CHARACTERS = 1_000;

const text = z.string("must be a string");
const filled = text.min(1, "must not be empty");

export const secretNameSchema = filled
  .max(NAME_MAX_CHARACTERS, `must have at most ${NAME_MAX_CHARACTERS} characters`)
  .regex(SECRET_NAME, "may hold letters, digits, _, - and . only, so that {{ SECRET_name }} can refer to it");

const nameField = {
  name: {
    type: "String!",
    inputType: "String",
    input: "Letters, digits, _, - and ., at most 191; unique within the account.",
    patch: secretNameSchema,
  },
} satisfies Fields;

/** No operation returns it. */
export const secretValueField = {
  value: {
    type: "String",
    input: "1 byte to 64 KiB.",
    patch: filled
      .refine((value) => new TextEncoder().encode(value).length <= VALUE_MAX_BYTES, {
        error: `must have at most ${VALUE_MAX_BYTES} bytes (UTF-8)`,
      })
      .refine((value) => value.isWellFormed() && !value.includes("\0"), {
        error: "must be text that an environment variable can hold: Unicode without NUL",
      }),
  },
} satisfies Fields;

export const secretDescriptionField = {
  description: {
    type: "String",
    input: "For users; up to 1000 characters. Empty or null: none.",
    patch: clearable(
      text.max(DESCRIPTION_MAX_CHARACTERS, `must have at most ${DESCRIPTION_MAX_CHARACTERS} characters`),
    ),
  },
} satisfies Fields;

/** What is shown of a secret. */
export const secretViewFields = { ...nameField, ...secretDescriptionField } satisfies Fields;
export const secretFields = { ...nameField, ...secretValueField, ...secretDescriptionField } satisfies Fields;

export const secretCreationSchema = z.object(patchShape(secretFields));
export const secretValueSchema = z.object({ id: idSchema, ...patchShape(secretValueField) });
export const secretDescriptionSchema = z.object({ id: idSchema, ...patchShape(secretDescriptionField) });
