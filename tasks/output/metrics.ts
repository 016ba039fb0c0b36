import { isFailedReading } from "../../src/client/failed-reading.js";
import type { FailedReading } from "../../src/client/failed-reading.js";
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
import type { TypedValue } from "./format-value.js";

type Labels = Readonly<Record<string, string>>;

/** A value of a metric; every metric is a gauge. */
interface Sample {
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  /** A decimal number, exact; Prometheus rounds it to 64-bit floating point. */
  readonly value: string;
}

/** The metrics in Prometheus's text format. A failed reading has no sample. */
export function renderMetrics(states: readonly VaultState[]): string {
  return render(states.flatMap(samplesOf));
}

/** The metrics if the node does not answer; without a chain id if none is configured. */
export function renderOutage(...vault: Parameters<typeof labelsOf>): string {
  return render([up(labelsOf(...vault), false)]);
}

function render(samples: readonly Sample[]): string {
  return [...Map.groupBy(samples, ({ name }) => name)]
    .map(([name, [...group]]) =>
      [
        `# HELP ${name} ${escape(group[0]?.help ?? "")}`,
        `# TYPE ${name} gauge`,
        ...group.map(({ labels, value }) => {
          const pairs = Object.entries(labels).map(
            ([label, text]) => `${label}="${escape(text, '"')}"`,
          );
          return `${name}{${pairs.join(",")}} ${value}`;
        }),
      ].join("\n"),
    )
    .map((group) => `${group}\n`)
    .join("");
}

function escape(text: string, quote = ""): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return quote === "" ? escaped : escaped.replaceAll(quote, `\\${quote}`);
}

function labelsOf(
  network: string,
  chainId: number | undefined,
  instance: string | undefined,
): Labels {
  const chain = String(chainId ?? "");
  return { network, chain_id: chain, instance: instance ?? "" };
}

function up(labels: Labels, value: boolean): Sample {
  const help =
    "1 if the node answered, and every reading of a configured contract succeeded";
  return gauge("up", help, labels, value);
}

function gauge(
  name: string,
  help: string,
  labels: Labels,
  value: number | boolean,
): Sample {
  return { name: `vault_${name}`, help, labels, value: String(Number(value)) };
}

function samplesOf(state: VaultState): readonly Sample[] {
  const { envelope, readings, keeper, name: instance } = state;
  const { network, chainId, block } = envelope;
  const labels = labelsOf(network, chainId, instance);
  return [
    up(labels, state.isUp),
    gauge("block_number", "Block of the readings", labels, block.number),
    gauge(
      "block_timestamp_seconds",
      "Time of that block, Unix seconds",
      labels,
      block.timestamp,
    ),
    ...standaloneQueries.map(({ path }) =>
      gauge(
        "reading_up",
        "1 if the reading succeeded",
        { ...labels, reading: path.join(".") },
        !isFailedReading(get(readings, path)),
      ),
    ),
    ...standaloneQueries.flatMap((query) => valuesOf(query, state, labels)),
    ...samplesOfKeeper(keeper, labels),
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
  labels: Labels,
): readonly Sample[] {
  const { round } = readings;
  const isOpen = isFailedReading(round) || !round.settled;
  return isFailedReading(get(readings, query.path))
    ? []
    : placesOf(query).flatMap(({ path, field }) => {
        const found = typedValue(field, get(readings, path));
        return (isOpen && writtenBySettlement.has(field.name)) ||
          (found.type !== "uint256" && found.type !== "bool")
          ? []
          : sampleOf(query, field, found, settings, labels);
      });
}

function sampleOf(
  { operation, path: [key, variant] }: Query,
  field: Field,
  found: TypedValue & { readonly type: "uint256" | "bool" },
  settings: DisplaySettings,
  labels: Labels,
): Sample {
  const { title, outputs, inputs, targetName } = operationEntry(operation);
  const isOnly = outputs.length === 1;
  const place = isOnly ? key : `${key}_${field.name}`;
  const { suffix, meaning, decimals } = scaleOf(field, settings);
  const name = toSnakeCase(
    field.unit === "timestamp" ? place.replace(/Time$/u, "") : place,
  );
  const help = isOnly ? title : `${title}: ${field.label}`;
  const which = targetName ?? inputs[0]?.name;
  return {
    name: `vault_${name}${suffix}`,
    help: `${help}, ${meaning}`,
    labels:
      variant === undefined || which === undefined
        ? labels
        : { ...labels, [toSnakeCase(which)]: variant },
    value: toDecimal(BigInt(found.value), decimals),
  };
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

function samplesOfKeeper(
  {
    expired,
    secondsToEnd,
    canBeSettled,
    code,
    openSettlement: open,
  }: KeeperState,
  labels: Labels,
): readonly Sample[] {
  const known = (
    name: string,
    help: string,
    value: number | boolean | null | FailedReading,
  ): readonly Sample[] =>
    value === null || isFailedReading(value)
      ? []
      : [gauge(name, help, labels, value)];
  return [
    ...known("round_expired", "1 if the round has ended", expired),
    ...known(
      "round_remaining_seconds",
      "Seconds to the round's end, negative after it",
      secondsToEnd,
    ),
    ...known(
      "can_be_settled",
      "1 if the next unattended run would settle the round, once it has ended",
      canBeSettled,
    ),
    ...(code === null
      ? []
      : [
          gauge(
            "settlement_obstacle",
            "1 for the code of what keeps the next unattended run from settling",
            { ...labels, code },
            1,
          ),
        ]),
    ...known(
      "settlement_open",
      "1 if a settlement is under way",
      isFailedReading(open) ? open : open !== null,
    ),
    ...known(
      "settlement_open_since_timestamp_seconds",
      "Time at which the settlement under way began, Unix seconds",
      isFailedReading(open) || open === null ? null : open.since,
    ),
  ];
}

function toSnakeCase(name: string): string {
  return name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_")
    .replaceAll(".", "_")
    .toLowerCase();
}
