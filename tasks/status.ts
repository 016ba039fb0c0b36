import {
  isFailedReading,
  isNotConfigured,
} from "../src/client/read-at-block.js";
import { requireFixedBlock } from "../src/client/inputs.js";
import type { ReadOptions } from "../src/client/read-at-block.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted } from "../src/escape.js";
import { describeUnfinished } from "../src/settlement/next-run.js";
import { tasks } from "./definitions.js";
import { readAction } from "./open-vault.js";
import {
  chapter,
  labelledValues,
  section,
  title,
  toned,
} from "./output/blocks.js";
import type { Block } from "./output/blocks.js";
import { renderMetrics, renderOutage } from "./output/metrics.js";
import {
  describeAnswer,
  failedCell,
  failureNotes,
  snapshotBlocks,
  valuesIn,
} from "./output/values.js";
import { ATTEMPT, describeAttempt, readState } from "./vault-state.js";
import type { VaultState } from "./vault-state.js";

export default readAction(tasks.status, async (vault, args, { terminal }) => {
  const { all, raw, format, block: blockTag, from, timeout } = args;
  if (all) {
    requireFixedBlock(blockTag, "--block");
  }
  const { networkName: network, instanceName: instance, connection } = vault;
  const { networkConfig } = connection;
  const { chainId, vault: settings } = networkConfig;
  const names = all ? Object.keys(settings.instances) : [];
  const target = { blockTag, from, timeout };
  const [own, ...instances] = await readStates(vault, names, target).catch(
    async (error: unknown) => {
      if (format !== undefined) {
        const outage = renderOutage({ network, chainId, instance });
        await terminal.out.write(outage);
      }
      throw error;
    },
  );
  const { envelope } = own;
  // Some networks configure contracts only in their instances.
  const hasOwn =
    instances.length === 0 ||
    valuesIn(own.readings).some(
      ({ value }) => !isFailedReading(value) || !isNotConfigured(value.error),
    );
  const states = hasOwn ? [own, ...instances] : instances;
  if (format !== undefined) {
    await terminal.out.write(renderMetrics(states));
    return states.every(
      ({ isUp, keeper }) => isUp && !isFailedReading(keeper.openSettlement),
    );
  }
  const failures = states.flatMap((state) => state.failures);
  return {
    json: {
      ...envelope,
      status: hasOwn ? documentOf(own) : null,
      ...(all && {
        instances: Object.fromEntries(
          instances.map((state) => [state.name ?? "", documentOf(state)]),
        ),
      }),
    },
    ok: failures.length === 0,
    blocks: [
      title("Vault status", envelope),
      ...states.flatMap((state) => [
        ...(all ? [chapter(headingOf(state))] : []),
        ...snapshotBlocks(state.readings, {
          ...state.settings,
          chainTime: state.time,
          raw,
        }),
        ...section("Settlement", settlementValues(state)),
      ]),
      failureNotes(failures),
    ],
  };
});

/** The vault, and those of its instances at the same block. */
async function readStates(
  vault: HardhatVault,
  names: readonly string[],
  target: ReadOptions,
): Promise<[VaultState, ...VaultState[]]> {
  const own = await readState(vault, target);
  const { pin } = own;
  const { blockTag = "latest" } = target;
  const pinned = { ...target, blockTag: pin };
  const time = blockTag === "latest" ? own.time : undefined;
  const instances = await Promise.all(
    names.map(async (name) => {
      const instance = vault.instance(name);
      await instance.useScalesOfMocks();
      return await readState(instance, pinned, time);
    }),
  );
  return [own, ...instances];
}

function documentOf({ readings, keeper }: VaultState): object {
  return { ...readings, ...keeper };
}

function headingOf({ name }: VaultState): string {
  return name === undefined
    ? "Contracts of the network itself"
    : `Instance ${escapeUntrusted(name)}`;
}

/** Whether the vault can be settled, and what is under way. */
export function settlementValues(state: VaultState): Block {
  const { canBeSettledBy, expired, openSettlement: open } = state.keeper;
  return labelledValues([
    [ATTEMPT, describeAttempt(state)],
    ["Round ended", describeAnswer(expired)],
    ["Asked as", canBeSettledBy],
    open !== null && [
      "Under way",
      isFailedReading(open)
        ? failedCell(open)
        : toned("warn", describeUnfinished(open)),
    ],
  ]);
}
