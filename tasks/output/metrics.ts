import { isFailedReading } from "../../src/client/failed-reading.js";
import { toDecimal } from "../../src/protocol/amounts.js";
import {
  get,
  operationEntry,
  placesOf,
  standaloneQueries,
  units,
} from "../../src/protocol/index.js";
import type {
  DisplaySettings,
  Field,
  Query,
} from "../../src/protocol/index.js";
import type { KeeperState, VaultState } from "../vault-state.js";
import { decimalsOf, typedValue } from "./format-value.js";

type Labels = Readonly<Record<string, string>>;

/** A value of a metric; every metric is a gauge. */
interface Sample {
  /** Without `vault_`. */
  readonly name: string;
  readonly help: string;
  /** A decimal number, exact: Prometheus rounds it to 64-bit floating point. */
  readonly value: string | number | boolean;
  /** Beside those of the vault. */
  readonly labels?: Labels;
}

/** The metrics in Prometheus's text format. A failed reading has no sample. */
export function renderMetrics(states: readonly VaultState[]): string {
  return render(
    states.flatMap((state) => {
      const { network, chainId } = state.envelope;
      return within(labelsOf(network, chainId, state.name), samplesOf(state));
    }),
  );
}

/** The metrics if the node does not answer; without a chain id if none is configured. */
export function renderOutage(...vault: Parameters<typeof labelsOf>): string {
  return render(within(labelsOf(...vault), [up(false)]));
}

function labelsOf(
  network: string,
  chainId: number | undefined,
  instance: string | undefined,
): Labels {
  const chain = String(chainId ?? "");
  return { network, chain_id: chain, instance: instance ?? "" };
}

function within(vault: Labels, samples: readonly Sample[]): readonly Sample[] {
  return samples.map((sample) => ({
    ...sample,
    labels: { ...vault, ...sample.labels },
  }));
}

function render(samples: readonly Sample[]): string {
  return [...Map.groupBy(samples, ({ name }) => `vault_${name}`)]
    .flatMap(([name, group]) => [
      `# HELP ${name} ${escape(group[0]?.help ?? "")}`,
      `# TYPE ${name} gauge`,
      ...group.map(({ labels = {}, value }) => {
        const pairs = Object.entries(labels).map(
          ([label, text]) =>
            `${label}="${escape(text).replaceAll('"', String.raw`\"`)}"`,
        );
        const number = typeof value === "boolean" ? Number(value) : value;
        return `${name}{${pairs.join(",")}} ${number}`;
      }),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function up(value: boolean): Sample {
  const help =
    "1 if the node answered, and every reading of a configured contract succeeded";
  return { name: "up", help, value };
}

function samplesOf(state: VaultState): readonly Sample[] {
  const { readings, isUp } = state;
  const { number, timestamp } = state.envelope.block;
  return [
    up(isUp),
    { name: "block_number", help: "Block of the readings", value: number },
    {
      name: "block_timestamp_seconds",
      help: "Time of that block, Unix seconds",
      value: timestamp,
    },
    ...standaloneQueries.map(({ path }) => ({
      name: "reading_up",
      help: "1 if the reading succeeded",
      labels: { reading: path.join(".") },
      value: !isFailedReading(get(readings, path)),
    })),
    ...standaloneQueries.flatMap((query) => valuesOf(query, state)),
    ...samplesOfKeeper(state.keeper),
  ];
}

/** Values that have no meaning before the settlement writes them. */
const writtenBySettlement: ReadonlySet<string> = new Set([
  "settledPrice",
  "settledAmount",
]);

function valuesOf(
  query: Query,
  { readings, settings }: VaultState,
): readonly Sample[] {
  const { round } = readings;
  const isOpen = isFailedReading(round) || !round.settled;
  const [key, variant] = query.path;
  const { title, outputs, inputs, targetName } = operationEntry(
    query.operation,
  );
  const which = targetName ?? inputs[0]?.name;
  if (isFailedReading(get(readings, query.path))) {
    return [];
  }
  return placesOf(query).flatMap(({ path, field }) => {
    const { type, value } = typedValue(field, get(readings, path));
    if (
      (isOpen && writtenBySettlement.has(field.name)) ||
      (type !== "uint256" && type !== "bool")
    ) {
      return [];
    }
    const isOnly = outputs.length === 1;
    const place = isOnly ? key : `${key}_${field.name}`;
    const { suffix, meaning, decimals } = scaleOf(field, settings);
    const name =
      field.unit === "timestamp" ? place.replace(/Time$/u, "") : place;
    return {
      name: toSnakeCase(name) + suffix,
      help: `${isOnly ? title : `${title}: ${field.label}`}, ${meaning}`,
      value: toDecimal(BigInt(value), decimals),
      ...(variant !== undefined &&
        which !== undefined && { labels: { [toSnakeCase(which)]: variant } }),
    };
  });
}

/** The unit in a metric's name: another scale has another name. */
function scaleOf(
  field: Field,
  settings: DisplaySettings,
): {
  readonly suffix: string;
  readonly meaning: string;
  readonly decimals: number;
} {
  const { unit, type } = field;
  if (type === "bool") {
    return { suffix: "", meaning: "1 if it is", decimals: 0 };
  }
  if (unit === "timestamp") {
    const suffix = "_timestamp_seconds";
    return { suffix, meaning: "Unix seconds", decimals: 0 };
  }
  const context = { ...settings, chainTime: 0, raw: false };
  const decimals = decimalsOf(field, context);
  if (decimals === undefined) {
    const meaning = "the contract's integer, unscaled";
    return { suffix: "_raw", meaning, decimals: 0 };
  }
  switch (unit) {
    case "percent": {
      // Of its decimals, two make a percentage of a ratio.
      const ofRatio = units.percent.decimals + 2;
      return { suffix: "_ratio", meaning: "1 is 100 %", decimals: ofRatio };
    }
    case "rate":
      return { suffix: "_ratio", meaning: "scaled", decimals };
    case "token":
      return { suffix: "_tokens", meaning: "in tokens", decimals };
    default: {
      const meaning = unit === "raw" ? "scaled as configured" : "scaled";
      return { suffix: "", meaning, decimals };
    }
  }
}

function samplesOfKeeper({
  expired,
  secondsToEnd,
  canBeSettled,
  code,
  openSettlement: open,
}: KeeperState): readonly Sample[] {
  const isOpen = isFailedReading(open) ? null : open !== null;
  const since = isFailedReading(open) ? null : (open?.since ?? null);
  const all = [
    ["round_expired", "1 if the round has ended", expired],
    [
      "round_remaining_seconds",
      "Seconds to the round's end, negative after it",
      secondsToEnd,
    ],
    [
      "can_be_settled",
      "1 if the next unattended run would settle the round, once it has ended",
      isFailedReading(canBeSettled) ? null : canBeSettled,
    ],
    ["settlement_open", "1 if a settlement is under way", isOpen],
    [
      "settlement_open_since_timestamp_seconds",
      "Time at which the settlement under way began, Unix seconds",
      since,
    ],
  ] as const;
  const obstacle = {
    name: "settlement_obstacle",
    help: "1 for the code of what keeps the next unattended run from settling",
    value: 1,
  };
  return [
    ...all.flatMap(([name, help, value]) =>
      value === null ? [] : { name, help, value },
    ),
    ...(code === null ? [] : [{ ...obstacle, labels: { code } }]),
  ];
}

function toSnakeCase(name: string): string {
  return name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_")
    .replaceAll(".", "_")
    .toLowerCase();
}
