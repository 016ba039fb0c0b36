import {
  isFailedReading,
  isNotConfigured,
} from "../src/client/failed-reading.js";
import { requireFixedBlock } from "../src/client/inputs.js";
import type { ReadOptions } from "../src/client/reader.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted } from "../src/escape.js";
import { describeUnfinished } from "../src/settlement/unfinished-settlement.js";
import {
  chapter,
  labelledValues,
  section,
  title,
  toned,
} from "./output/blocks.js";
import type { Block, Envelope } from "./output/blocks.js";
import { describeAnswer } from "./output/format-value.js";
import { renderMetrics, renderOutage } from "./output/metrics.js";
import { failureNotes, valuesIn, snapshotBlocks } from "./output/readings.js";
import { readAction } from "./open-vault.js";
import { statusTask } from "./definitions.js";
import type { StreamedReport, TaskReport } from "./run-task.js";
import type { Output } from "./output/style.js";
import { ATTEMPT, describeAttempt, readState } from "./vault-state.js";
import type { VaultState } from "./vault-state.js";

export default readAction(
  statusTask,
  async (vault, { all, raw, format, ...target }, { terminal }) => {
    if (all) {
      requireFixedBlock(target.block, "--block");
    }
    const names = all
      ? Object.keys(vault.connection.networkConfig.vault.instances)
      : [];
    const { block: blockTag, from, timeout } = target;
    const reading = readAll(vault, names, { blockTag, from, timeout });
    return format === undefined
      ? reportStatus(await reading, all, raw)
      : await writeMetrics(vault, reading, terminal.out);
  },
);

/** The readings of the vault and, at the same block, of its instances. */
interface Found {
  readonly envelope: Envelope;
  /** Undefined if only instances have contracts. */
  readonly own: VaultState | undefined;
  readonly instances: readonly VaultState[];
}

async function readAll(
  vault: HardhatVault,
  names: readonly string[],
  target: ReadOptions,
): Promise<Found> {
  const own = await readState(vault, target);
  const { envelope, pin, time } = own;
  const pinned = { ...target, blockTag: envelope.block.number };
  const instances = await Promise.all(
    names.map(
      async (name) =>
        await readState(
          (await vault.instance(name).withScalesOfMocks()).pinnedTo(pin),
          pinned,
          time,
        ),
    ),
  );
  // Some networks configure contracts only in their instances.
  const hasOwn =
    instances.length === 0 ||
    valuesIn(own.readings).some(
      ({ value }) => !isFailedReading(value) || !isNotConfigured(value.error),
    );
  return { envelope, own: hasOwn ? own : undefined, instances };
}

function reportStatus(
  { envelope, own, instances }: Found,
  all: boolean,
  raw: boolean,
): TaskReport {
  const sets = own === undefined ? instances : [own, ...instances];
  const failures = sets.flatMap((set) => set.failures);
  const documentOf = ({ readings, keeper }: VaultState) => ({
    ...readings,
    ...keeper,
  });
  return {
    json: {
      ...envelope,
      status: own === undefined ? null : documentOf(own),
      ...(all
        ? {
            instances: Object.fromEntries(
              instances.map((set) => [set.name ?? "", documentOf(set)]),
            ),
          }
        : {}),
    },
    ok: failures.length === 0,
    blocks: [
      title("Vault status", envelope),
      ...sets.flatMap((set) => [
        ...(all
          ? [
              chapter(
                set.name === undefined
                  ? "Contracts of the network itself"
                  : `Instance ${escapeUntrusted(set.name)}`,
              ),
            ]
          : []),
        ...snapshotBlocks(set.readings, {
          ...set.settings,
          chainTime: set.time,
          raw,
        }),
        ...section("Settlement", settlementValues(set)),
      ]),
      failureNotes(failures),
    ],
  };
}

/** Whether the vault can be settled, and what is under way. */
export function settlementValues(state: VaultState): Block {
  const { canBeSettledBy, openSettlement: open } = state.keeper;
  return labelledValues([
    [ATTEMPT, describeAttempt(state)],
    ["Round ended", describeAnswer(state.keeper.expired)],
    ["Asked as", canBeSettledBy],
    open !== null && [
      "Under way",
      isFailedReading(open)
        ? toned("bad", `failed: ${open.error.shortMessage}`)
        : toned("warn", describeUnfinished(open)),
    ],
  ]);
}

/** Writes `vault_up 0` if the node does not answer, and then fails. */
async function writeMetrics(
  vault: HardhatVault,
  reading: Promise<Found>,
  out: Output,
): Promise<StreamedReport> {
  const { networkName: network, instanceName: instance, connection } = vault;
  const { chainId } = connection.networkConfig;
  try {
    const { own, instances } = await reading;
    const states = own === undefined ? instances : [own, ...instances];
    await out.write(renderMetrics(states));
    return {
      streamed: true,
      ok: states.every(
        ({ isUp, keeper }) => isUp && !isFailedReading(keeper.openSettlement),
      ),
    };
  } catch (error) {
    await out.write(renderOutage({ network, chainId, instance }));
    throw error;
  }
}
