/**
 * Run as a script of its own: adds an operation to the table before anything
 * else reads it, and its method to the client, and prints where it turns up.
 */
import type { VaultClient as Client } from "../../src/client/vault-client.js";
import type { ReadOptions } from "../../src/client/reader.js";
import type { Operation } from "../../src/protocol/index.js";
// Not from the index, which reads the table when it is loaded.
import { operations } from "../../src/protocol/operations.js";

const eleventh: Operation = {
  row: 11,
  kind: "read",
  // The ABIs have no eleventh function, so this one is asked twice.
  functionName: "queryVolume",
  selector: "0xa69590a8",
  target: "vault",
  inputs: [],
  outputs: [
    { name: "volume", type: "uint256", unit: "raw", label: "Volume again" },
  ],
  key: "volumeAgain",
  title: "Volume again",
  task: "volume-again",
  description: "Show the volume once more",
};
Object.assign(operations, { queryVolumeAgain: eleventh });

// Only now: these read the table when they are loaded.
const { createTestHre } = await import("./hre.js");
const { parseDocument, runTyped } = await import("./run-vault-task.js");
const { VaultClient } = await import("../../src/client/vault-client.js");

// the type of the table has no operation that is added at run time; its arguments and its result are those of queryVolume
const name = "queryVolumeAgain" as "queryVolume";
const methods = {
  async queryVolumeAgain(this: Client, options?: ReadOptions): Promise<bigint> {
    return await this.read(name, [], options);
  },
};
Object.assign(VaultClient.prototype, methods);

const hre = await createTestHre();
const connection = await hre.network.getOrCreate();
await connection.vault.deployMocks({ overrides: { volume: 77n } });

const documentOf = async (typed: string): Promise<unknown> =>
  parseDocument(await runTyped(hre, `${typed} --json`));

const found = {
  method: String(await methods.queryVolumeAgain.call(connection.vault)),
  snapshot: Object.hasOwn(await hre.vault.snapshot(), "volumeAgain"),
  task: await documentOf("volume-again"),
  text: (await runTyped(hre, "volume-again")).stdout,
  status: await documentOf("status"),
  statusText: (await runTyped(hre, "status")).stdout,
  request: await documentOf("request queryVolumeAgain"),
};
console.log(JSON.stringify(found));
