import * as z from "zod";
import { DATA_CENTERS, findDataCenter } from "../../catalog/data-centers.ts";
import { optional, optionalNonEmpty, nameSchema, wholeNumber } from "../input-schemas.ts";
import { NETWORK_VOLUME_MAX_GB } from "../../contract/rest/rest-storage.ts";

const dataCenterSchema = z
  .string()
  .refine(
    (id) => findDataCenter(id) !== undefined,
    `must be one of ${DATA_CENTERS.map(({ id }) => id).join(", ")}`,
  );

const changeable = {
  name: optional(nameSchema),
  /** GB. */
  size: optional(wholeNumber(1, NETWORK_VOLUME_MAX_GB)),
};

/** What a new network volume shall be like. */
export const volumeCreationSchema = z.object({
  ...changeable,
  dataCenterId: optionalNonEmpty(dataCenterSchema),
});
export type VolumeCreation = Partial<z.output<typeof volumeCreationSchema>>;

/** What shall be different about a network volume; undefined keeps. */
export const volumePatchSchema = z.object(changeable);
export type VolumePatch = Partial<z.output<typeof volumePatchSchema>>;
