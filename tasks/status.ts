import { requireFixedBlock } from "../src/client/inputs.js";
import {
  failedReading,
  isFailedReading,
  isNotConfigured,
  takePinnedSnapshot,
} from "../src/client/read-at-block.js";
import type {
  FailedReading,
  ReadOptions,
  VaultSnapshot,
} from "../src/client/read-at-block.js";
import type { VaultError } from "../src/errors.js";
import { escapeUntrusted } from "../src/foreign-text.js";
import type { VaultHost } from "../src/host.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import {
  get,
  operationEntry,
  standaloneQueries,
} from "../src/protocol/index.js";
import type { DisplaySettings, Unit } from "../src/protocol/index.js";
import { toDecimal } from "../src/protocol/round.js";
import { readOnBranch } from "../src/rpc/blocks.js";
import type { PinnedBlock } from "../src/rpc/blocks.js";
import { clockForRoundEnd } from "../src/settlement/current-round.js";
import {
  describeUnfinished,
  findNextRun,
  findSenderWithoutKeys,
  findUnfinished,
} from "../src/settlement/next-run.js";
import type {
  NextRun,
  UnfinishedSettlement,
} from "../src/settlement/next-run.js";
import { tasks } from "./definitions.js";
import {
  chapter,
  labelledValues,
  section,
  title,
  toned,
} from "./output/screen.js";
import type { Part, Cell, Envelope } from "./output/screen.js";
import {
  decimalsOf,
  describeAnswer,
  failedCell,
  failureNotes,
  failuresOf,
  snapshotParts,
  valuesIn,
} from "./output/values.js";
import type { PlacedValue } from "./output/values.js";
import { readAction } from "./run-task.js";

export default readAction(tasks.status, async (vault, args, { terminal }) => {
  const { all, raw, format, block: blockTag, from } = args;
  if (all) {
    requireFixedBlock(blockTag, "--block");
  }
  const { networkName: network, instanceName: instance, connection } = vault;
  const { networkConfig } = connection;
  const { chainId, vault: settings } = networkConfig;
  const names = all ? Object.keys(settings.instances) : [];
  const target = { blockTag, from };
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
    screen: [
      title("Vault status", envelope),
      ...states.flatMap((state) => [
        ...(all ? [chapter(headingOf(state))] : []),
        ...snapshotParts(state.readings, {
          ...state.display,
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
export function settlementValues(state: VaultState): Part {
  const { canBeSettledBy, expired, openSettlement: unfinished } = state.keeper;
  return labelledValues([
    ["Can be settled", describeAttempt(state)],
    ["By account", canBeSettledBy],
    ["Round ended", describeAnswer(expired)],
    unfinished !== null && [
      "Under way",
      isFailedReading(unfinished)
        ? failedCell(unfinished)
        : toned("warn", describeUnfinished(unfinished)),
    ],
  ]);
}

/** The text of `canBeSettled`, with the reason if it is not true. */
export function describeAttempt({ keeper }: VaultState): Cell {
  const { canBeSettled, reason } = keeper;
  if (isFailedReading(canBeSettled)) {
    return failedCell(canBeSettled);
  }
  const why = reason === null ? "" : `, ${escapeUntrusted(reason)}`;
  const text = describeAnswer(canBeSettled) + why;
  return canBeSettled === true ? toned("good", text) : { text };
}

const MOST_SECONDS = BigInt(Number.MAX_SAFE_INTEGER);
const NEWEST_ONLY = "it is tried at the newest block only";

/** A vault's state as a keeper needs it, without the readings. */
export interface KeeperState extends Pick<NextRun, "code" | "reason"> {
  /** Null if there is no round, or it cannot be read. */
  readonly expired: boolean | null;
  /** Seconds to the round's end, negative after it; null as `expired`, and above 2^53. */
  readonly secondsToEnd: number | null;
  readonly canBeSettled: NextRun["canBeSettled"] | FailedReading;
  readonly canBeSettledBy: string;
  /** Null if no settlement of this project is under way. */
  readonly openSettlement: UnfinishedSettlement | null | FailedReading;
}

/** A vault at one block. */
export interface VaultState {
  /** The instance; undefined for the network's own contracts. */
  readonly name: string | undefined;
  readonly display: DisplaySettings;
  readonly envelope: Envelope;
  readonly pin: PinnedBlock;
  readonly readings: Omit<VaultSnapshot, "chainId" | "block">;
  /** Unix seconds that `keeper.expired` compares with the round's end. */
  readonly time: number;
  readonly keeper: KeeperState;
  /** Of the readings, and of the keeper's questions. */
  readonly failures: readonly VaultError[];
  /** True if something was read, and nothing with an address failed. */
  readonly isUp: boolean;
}

/**
 * Reads a vault at one block.
 *
 * @param time Unix seconds by which a round has ended or not, if the block that is named is the
 * newest one. Default: as for a settlement at the newest block, else those of the block.
 */
export async function readState(
  vault: VaultHost,
  target: ReadOptions,
  time?: number,
): Promise<VaultState> {
  const { blockTag = "latest" } = target;
  const [{ snapshot, pin }, sender, found] = await Promise.all([
    takePinnedSnapshot(vault, target),
    findSenderWithoutKeys(vault, target.from),
    findUnfinished(vault).catch(failedReading),
  ]);
  const { chainId, block, ...readings } = snapshot;
  const { round } = readings;
  // Without an address, nothing can be under way.
  const unfinished =
    isFailedReading(found) && isNotConfigured(found.error) ? null : found;
  // After a past block no run is the next.
  const isNow = blockTag === "latest" || time !== undefined;
  const now =
    time ?? (isNow ? await clockForRoundEnd(vault, block) : block.timestamp);
  // Where blocks are made on demand, the next one may be past the round's end.
  const isLater = isNow && now > block.timestamp;
  const at = isLater || blockTag === "pending" ? "pending" : pin;
  const known = { ...readings, block, unfinished, at };
  const run = isNow
    ? await readOnBranch(
        vault.rpc,
        pin,
        async () => await findNextRun(vault, sender, known),
      ).catch(failedReading)
    : { canBeSettled: null, code: null, reason: NEWEST_ONLY };
  const { canBeSettled, code, reason } = isFailedReading(run)
    ? { canBeSettled: run, code: null, reason: null }
    : run;
  const failed = [run, unfinished].flatMap((one) =>
    isFailedReading(one) && !isNotConfigured(one.error) ? one.error : [],
  );
  const left =
    isFailedReading(round) || round.endTime === 0n
      ? null
      : round.endTime - BigInt(now);
  return {
    name: vault.instanceName,
    display: vault.display,
    envelope: { network: vault.networkName, chainId, block },
    pin,
    readings,
    time: now,
    keeper: {
      expired: left === null ? null : left <= 0n,
      secondsToEnd: left === null || left > MOST_SECONDS ? null : Number(left),
      canBeSettled,
      canBeSettledBy: sender,
      code,
      reason,
      openSettlement: unfinished,
    },
    failures: [...failuresOf(readings), ...failed],
    // A damaged journal is no fault of the node.
    isUp:
      !isFailedReading(run) &&
      failuresOf(readings).every(isNotConfigured) &&
      valuesIn(readings).some(({ value }) => !isFailedReading(value)),
  };
}

/** Name without `vault_`, value, and labels of its own. Without a value it is left out. */
type Sample = readonly [
  name: string,
  /** Decimal numbers are exact: Prometheus rounds them to 64-bit floating point. */
  value: string | number | boolean | null | undefined,
  labels?: Readonly<Record<string, string>>,
];

/** The contracts that samples are about, which their labels name. */
interface SampleSource {
  readonly network: string;
  /** Undefined if the node does not answer and none is configured. */
  readonly chainId: number | undefined;
  readonly instance: string | undefined;
}

/** The metrics in Prometheus's text format. A failed reading has no value. */
export function renderMetrics(states: readonly VaultState[]): string {
  return render(
    states.map((state) => [
      { ...state.envelope, instance: state.name },
      samplesOf(state),
    ]),
  );
}

/** The metrics if the node does not answer. */
export function renderOutage(source: SampleSource): string {
  return render([[source, [["up", false]]]]);
}

/** A metric is named once, with the samples of all sources below. */
function render(
  sources: ReadonlyArray<readonly [SampleSource, readonly Sample[]]>,
): string {
  const metrics = new Map<string, string>();
  for (const [{ network, chainId = "", instance = "" }, samples] of sources) {
    for (const [name, value, more] of samples) {
      if (value !== null && value !== undefined) {
        const head = `# TYPE vault_${name} gauge\n`;
        const labels = { network, chain_id: `${chainId}`, instance, ...more };
        const pairs = Object.entries(labels).map(
          ([label, text]) => `${label}="${escape(text)}"`,
        );
        const line = `vault_${name}{${pairs.join(",")}} ${typeof value === "boolean" ? Number(value) : value}\n`;
        metrics.set(name, (metrics.get(name) ?? head) + line);
      }
    }
  }
  return [...metrics.values()].join("");
}

function escape(text: string): string {
  return text
    .replaceAll(/["\\]/gu, String.raw`\$&`)
    .replaceAll("\n", String.raw`\n`);
}

function samplesOf({
  readings,
  isUp,
  keeper,
  envelope: { block },
  display,
}: VaultState): readonly Sample[] {
  const { canBeSettled, code, openSettlement: unfinished } = keeper;
  const [isUnfinished, since] = isFailedReading(unfinished)
    ? []
    : [unfinished !== null, unfinished?.since];
  return [
    ["up", isUp],
    ["block_number", block.number],
    ["block_timestamp_seconds", block.timestamp],
    ...standaloneQueries.map(({ path }): Sample => {
      const isRead = !isFailedReading(get(readings, path));
      return ["reading_up", isRead, { reading: path.join(".") }];
    }),
    ...valuesIn(readings).flatMap((one) => sampleOf(one, display)),
    ["round_expired", keeper.expired],
    ["round_remaining_seconds", keeper.secondsToEnd],
    ["can_be_settled", isFailedReading(canBeSettled) ? null : canBeSettled],
    ["settlement_open", isUnfinished],
    ["settlement_open_since_timestamp_seconds", since],
    ["settlement_obstacle", code === null ? null : 1, { code: code ?? "" }],
  ];
}

const suffixes: { readonly [Name in Unit]?: string } = {
  none: "",
  timestamp: "_timestamp_seconds",
  percent: "_ratio",
  rate: "_ratio",
  token: "_tokens",
};

/** A value with its unit in the name: another scale has another name. */
function sampleOf(
  { query, field, value }: PlacedValue,
  display: DisplaySettings,
): readonly Sample[] {
  if (field === undefined) {
    return [];
  }
  const { inputs, targetName } = operationEntry(query.operation);
  const [key, variant] = query.path;
  const { unit } = field;
  const name =
    key === field.name ? key : `${key}_${field.name.replace(/Time$/u, "")}`;
  const decimals = decimalsOf(field, { ...display, raw: false });
  const isScaled =
    decimals !== undefined || unit === "none" || unit === "timestamp";
  const suffix = isScaled ? (suffixes[unit] ?? "") : "_raw";
  // A percentage is a hundred times the ratio.
  const scale = (decimals ?? 0) + (unit === "percent" ? 2 : 0);
  const kind = toSnakeCase(targetName ?? inputs[0]?.name ?? "");
  return [
    [
      toSnakeCase(name) + suffix,
      typeof value === "bigint" ? toDecimal(value, scale) : value === true,
      variant === undefined ? {} : { [kind]: variant },
    ],
  ];
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_").toLowerCase();
}
