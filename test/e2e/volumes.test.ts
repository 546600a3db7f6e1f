/** Disks of real containers: network volumes, and a disk that is full. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { ensureScriptImage } from "../support/script-image.ts";

describe.runIf(await isDockerAvailable())("what containers write", () => {
  let account: AccountHost;
  let imageName: string;
  beforeAll(async () => {
    imageName = await ensureScriptImage();
    account = await startAccountHost("volumes", "docker");
  });
  afterAll(() => account.stop());

  test("to a network volume is shared by workers of two endpoints, and outlives them", async ({ expect }) => {
    const { createNetworkVolume: volume } = await managementApi(account.baseUrl, account.apiKey).query<{
      createNetworkVolume: { id: string };
    }>(
      'mutation { createNetworkVolume(input: { name: "models", size: 1, dataCenterId: "EU-RO-1" }) { id } }',
      {},
    );
    const clientOf = async (name: string): Promise<QueueClient> => {
      const endpointId = await createEndpoint(account, { name, imageName, networkVolumeId: volume.id });
      return new QueueClient({ ...account, endpointId });
    };
    const [writer, reader] = [await clientOf("writer"), await clientOf("reader")];
    const file = "/runpod-volume/greeting";

    const first = await writer.runsync({ mock_write: { file, text: "from the first" } });
    expect(first).toMatchObject({ status: "COMPLETED" });
    expect(await reader.runsync({ mock_read: file })).toMatchObject({ output: "from the first" });

    await writer.runsync({ mock_refresh: 1 }); // the next job runs in a new container
    expect(await writer.runsync({ mock_read: file })).toMatchObject({ output: "from the first" });
    const kept = join(account.stateDirectory, "agent", "volumes", volume.id, "greeting");
    expect(await readFile(kept, "utf8")).toBe("from the first");
    await writer.runsync({ mock_write: { file: "/tmp/greeting", text: "its own" } });
    expect(existsSync(join(account.stateDirectory, "agent", "volumes", volume.id, "..", "greeting"))).toBe(
      false,
    );
  });

  test("beyond the disk of their worker end it, and its job shows why", async ({ expect }) => {
    const endpointId = await createEndpoint(account, { name: "full", imageName, containerDiskInGb: 1 });
    const client = new QueueClient({ ...account, endpointId });
    const job = await client.run({ mock_fill: 1_050_000_000, mock_never: 1 });
    const result = await client.result(job.id);
    expect(result).toMatchObject({ status: "FAILED" });
    expect(JSON.stringify(result)).toMatch(/was ended: it wrote 1(\.1)? GB, containerDiskInGb is 1/);
  });
});
