/** Network volumes: `/v1/networkvolumes`. */
import {
  volumeCreateSchema,
  volumeSchema,
  volumeUpdateSchema,
  type RestVolume,
} from "../../contract/rest/rest-storage.ts";
import {
  changeVolume,
  createVolume,
  deleteVolume,
  listVolumes,
  requireVolume,
} from "../../management/endpoints/volumes.ts";
import { idOf, type RestContext } from "./context.ts";
import { readInput } from "./input.ts";

export async function getVolumes(context: RestContext): Promise<Response> {
  return context.json((await listVolumes(context.get("request"))).map(toRestVolume));
}

export async function getVolume(context: RestContext): Promise<Response> {
  return context.json(
    toRestVolume(await requireVolume(context.get("request"), idOf(context, "networkVolumeId"))),
  );
}

export async function postVolume(context: RestContext): Promise<Response> {
  const input = await readInput(context, volumeCreateSchema, volumeSchema);
  return context.json(toRestVolume(await createVolume(context.get("request"), input)));
}

/** `PATCH /v1/networkvolumes/{id}` and `POST /v1/networkvolumes/{id}/update`. */
export async function patchVolume(context: RestContext): Promise<Response> {
  const { name, size } = await readInput(context, volumeUpdateSchema, volumeSchema);
  const patch = { name: name ?? undefined, size: size ?? undefined };
  return context.json(
    toRestVolume(await changeVolume(context.get("request"), idOf(context, "networkVolumeId"), patch)),
  );
}

export async function removeVolume(context: RestContext): Promise<Response> {
  await deleteVolume(context.get("request"), idOf(context, "networkVolumeId"));
  return context.body(null, 204);
}

type Volume = Awaited<ReturnType<typeof requireVolume>>;

function toRestVolume({ id, name, sizeGb, dataCenterId }: Volume): RestVolume {
  return { id, name, size: sizeGb, dataCenterId };
}
