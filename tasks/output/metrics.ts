import { isFailedReading } from "../../src/client/failed-reading.js";
import type { FailedReading } from "../../src/client/failed-reading.js";
import { toDecimal } from "../../src/protocol/amounts.js";
import {
  get,
  operationEntry,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type { DisplaySettings, Field, Unit } from "../../src/protocol/index.js";
import type { VaultState } from "../vault-state.js";
import { decimalsOf } from "./format-value.js";
import { valuesIn } from "./readings.js";
import type { PlacedValue } from "./readings.js";

/** A gauge; without a value it has no sample. */
type Sample = readonly [
  /** Without `vault_`. */
  name: string,
  help: string,
  /** Decimal numbers are exact: Prometheus rounds them to 64-bit floating point. */
  value: string | number | boolean | null | undefined,
  labels?: Readonly<Record<string, string>>,
];

/** The contracts that a sample is about, which its labels name. */
interface Source {
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
export function renderOutage(source: Source): string {
  return render([[source, [up(false)]]]);
}

function up(isUp: boolean): Sample {
  return ["up", "1 if every reading of a configured contract succeeded", isUp];
}

function render(
  sources: ReadonlyArray<readonly [Source, readonly Sample[]]>,
): string {
  const metrics = new Map<string, string[]>();
  for (const [{ network, chainId = "", instance = "" }, samples] of sources) {
    for (const [name, help, value, more] of samples) {
      if (value === null || value === undefined) {
        continue;
      }
      const lines = metrics.get(name) ?? [
        `# HELP vault_${name} ${help}\n`,
        `# TYPE vault_${name} gauge\n`,
      ];
      const labels = { network, chain_id: `${chainId}`, instance, ...more };
      const pairs = Object.entries(labels).map(
        ([label, text]) => `${label}=${quote(text)}`,
      );
      const number = typeof value === "boolean" ? Number(value) : value;
      lines.push(`vault_${name}{${pairs.join(",")}} ${number}\n`);
      metrics.set(name, lines);
    }
  }
  return [...metrics.values()].flat().join("");
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/gu, String.raw`\$&`).replaceAll("\n", String.raw`\n`)}"`;
}

function samplesOf(state: VaultState): readonly Sample[] {
  const { readings, isUp, keeper } = state;
  const { number, timestamp } = state.envelope.block;
  const { expired, secondsToEnd, code } = keeper;
  const open = known(keeper.openSettlement);
  return [
    up(isUp),
    ["block_number", "Block of the readings", number],
    ["block_timestamp_seconds", "Its time, Unix seconds", timestamp],
    ...standaloneQueries.map(({ path }): Sample => [
      "reading_up",
      "1 if the reading succeeded",
      !isFailedReading(get(readings, path)),
      { reading: path.join(".") },
    ]),
    ...valuesIn(readings).flatMap((one) => sampleOf(one, state)),
    ["round_expired", "1 if the round has ended", expired],
    ["round_remaining_seconds", "Negative after the round's end", secondsToEnd],
    [
      "can_be_settled",
      "1 if the next unattended run would settle the round, once it has ended",
      known(keeper.canBeSettled),
    ],
    [
      "settlement_open",
      "1 if a settlement is under way",
      open === undefined ? undefined : open !== null,
    ],
    [
      "settlement_open_since_timestamp_seconds",
      "Time at which it began, Unix seconds",
      open?.since,
    ],
    [
      "settlement_obstacle",
      "1 for the code of what keeps the next unattended run from settling",
      code === null ? null : 1,
      { code: `${code}` },
    ],
  ];
}

function known<Value>(value: Value | FailedReading): Value | undefined {
  return isFailedReading(value) ? undefined : value;
}

/** No sample has what only a settlement writes, while the round is open. */
function sampleOf(
  { query, field, value }: PlacedValue,
  { readings: { round }, settings }: VaultState,
): readonly Sample[] {
  const isOpen = isFailedReading(round) || !round.settled;
  if (
    field === undefined ||
    (isOpen && /^settled(?:Price|Amount)$/u.test(field.name))
  ) {
    return [];
  }
  const { title, inputs, targetName } = operationEntry(query.operation);
  const [key, variant] = query.path;
  const isOnly = key === field.name;
  const place = isOnly ? key : `${key}_${field.name.replace(/Time$/u, "")}`;
  const [suffix, decimals] = scaleOf(field, settings);
  const which = toSnakeCase(targetName ?? inputs[0]?.name ?? "");
  return [
    [
      toSnakeCase(place) + suffix,
      isOnly ? title : `${title}: ${field.label}`,
      typeof value === "bigint" ? toDecimal(value, decimals) : value === true,
      variant === undefined ? {} : { [which]: variant },
    ],
  ];
}

const suffixes: { readonly [Name in Unit]?: string } = {
  none: "",
  timestamp: "_timestamp_seconds",
  percent: "_ratio",
  rate: "_ratio",
  token: "_tokens",
};

/** The unit in a metric's name: another scale has another name. */
function scaleOf(
  field: Field,
  settings: DisplaySettings,
): readonly [suffix: string, decimals: number] {
  const { unit } = field;
  const decimals = decimalsOf(field, { ...settings, raw: false });
  const isScalable = unit !== "none" && unit !== "timestamp";
  return isScalable && decimals === undefined
    ? ["_raw", 0]
    : // A percentage is a hundred times the ratio.
      [suffixes[unit] ?? "", (decimals ?? 0) + (unit === "percent" ? 2 : 0)];
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_").toLowerCase();
}
