/** Network volumes of an app: found by name and data center, or created. They are never deleted. */
import type { FlashManifest, ManifestResource } from "../../src/contract/flash/flash-manifest.ts";
import { Failure } from "../../src/std/failure.ts";
import { createNetworkVolume, networkVolumes } from "../service/endpoint-operations.ts";
import type { Service } from "../service/service.ts";

const SIZE_DEFAULT_GB = 100;

type NamedVolume = NonNullable<ManifestResource["networkVolume"]>;
type PresentVolume = { readonly id: string; readonly name: string; readonly dataCenterId: string };

/** Ids of volumes by endpoint name; without endpoints that have none. */
export async function findVolumes(
  service: Service,
  manifest: Pick<FlashManifest, "resources">,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const declared = Object.entries(manifest.resources).map(
    ([name, resource]): [string, readonly NamedVolume[]] => [name, volumesOf(resource)],
  );
  if (declared.every(([, volumes]) => volumes.length === 0)) return new Map();

  const { myself } = await service.query(networkVolumes);
  const present: PresentVolume[] = [...myself.networkVolumes];
  const found = new Map<string, readonly string[]>();
  for (const [endpoint, volumes] of declared.filter(([, named]) => named.length > 0)) {
    const ids: string[] = [];
    // One by one: a new volume may be named twice.
    for (const volume of volumes) ids.push(await findVolume(service, endpoint, volume, present));
    found.set(endpoint, ids);
  }
  return found;
}

/** The volumes of a resource, in any of the ways to declare them. */
export function volumesOf(resource: ManifestResource): readonly NamedVolume[] {
  if (resource.networkVolumes && resource.networkVolumes.length > 0) return resource.networkVolumes;
  if (resource.networkVolume) return [resource.networkVolume];
  return resource.networkVolumeId ? [{ id: resource.networkVolumeId }] : [];
}

async function findVolume(
  service: Service,
  endpoint: string,
  { id, name, size, dataCenterId }: NamedVolume,
  present: PresentVolume[],
): Promise<string> {
  // A volume that was created again has another id.
  const found =
    present.find((volume) => volume.id === id) ??
    present.find(
      (volume) =>
        volume.name === name && (dataCenterId === undefined || volume.dataCenterId === dataCenterId),
    );
  if (found) return found.id;
  if (name === undefined) {
    throw new Failure(
      `Endpoint '${endpoint}' names network volume '${id}', which the account does not have.`,
      ["Give NetworkVolume the id of an existing volume, or a name and a data center to create one."],
    );
  }
  const { createNetworkVolume: created } = await service.mutate(createNetworkVolume, {
    input: { name, size: size ?? SIZE_DEFAULT_GB, dataCenterId },
  });
  present.push(created);
  return created.id;
}
