import {
  isFailedReading,
  isNotConfigured,
} from "../src/client/failed-reading.js";
import { requireFixedBlock } from "../src/client/inputs.js";
import type { ReadOptions } from "../src/client/reader.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted } from "../src/escape.js";
import { excludeEachOther, taskArguments } from "./arguments.js";
import { chapter, title } from "./output/blocks.js";
import {
  failureNotes,
  failuresOf,
  readingsOf,
  snapshotBlocks,
} from "./output/readings.js";
import { readAction } from "./open-vault.js";
import type { TaskReport } from "./run-task.js";

export default readAction(
  taskArguments.status,
  async (vault, { all, raw, block: blockTag, from, timeout }) =>
    await readStatus(
      vault,
      all
        ? Object.keys(vault.connection.networkConfig.vault.instances)
        : undefined,
      { blockTag, from, timeout },
      raw,
    ),
  (args) => {
    if (args.all) {
      requireFixedBlock(args.block, "--block");
      for (const where of ["at", "instance"] as const) {
        if (args[where] !== undefined) {
          throw excludeEachOther("--all", `--${where}`);
        }
      }
    }
  },
);

/** Reports the readings of the vault and, at the same block, of its instances. */
async function readStatus(
  vault: HardhatVault,
  names: readonly string[] | undefined,
  target: ReadOptions,
  raw: boolean,
): Promise<TaskReport> {
  const own = await readSet(vault, target);
  const { envelope } = own;
  const pinned = { ...target, blockTag: envelope.block.number };
  const instances = await Promise.all(
    (names ?? []).map(
      async (name) => await readSet(vault.instance(name), pinned),
    ),
  );
  // Some networks configure contracts only in their instances.
  const hasOwn =
    instances.length === 0 ||
    readingsOf(own.readings).some(
      (value) => !isFailedReading(value) || !isNotConfigured(value.error),
    );
  const sets = hasOwn ? [own, ...instances] : instances;
  const failures = sets.flatMap(({ readings }) => failuresOf(readings));
  return {
    json: {
      ...envelope,
      status: hasOwn ? own.readings : null,
      ...(names === undefined
        ? {}
        : {
            instances: Object.fromEntries(
              instances.map(({ name = "", readings }) => [name, readings]),
            ),
          }),
    },
    ok: failures.length === 0,
    blocks: [
      title("Vault status", envelope),
      ...sets.flatMap(({ name, readings, settings }) => [
        ...(names === undefined
          ? []
          : [
              chapter(
                name === undefined
                  ? "Contracts of the network itself"
                  : `Instance ${escapeUntrusted(name)}`,
              ),
            ]),
        ...snapshotBlocks(readings, {
          ...settings,
          chainTime: envelope.block.timestamp,
          raw,
        }),
      ]),
      failureNotes(failures),
    ],
  };
}

async function readSet(vault: HardhatVault, target: ReadOptions) {
  const { chainId, block, ...readings } = await vault.snapshot(target);
  return {
    name: vault.instanceName,
    settings: vault.settings,
    envelope: { network: vault.networkName, chainId, block },
    readings,
  };
}
