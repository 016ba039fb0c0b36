import { isFailedReading } from "../../src/client/read-at-block.js";
import { toDecimal } from "../../src/protocol/round.js";
import {
  get,
  operationEntry,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type { Unit } from "../../src/protocol/index.js";
import type { VaultState } from "../vault-state.js";
import { decimalsOf, valuesIn } from "./values.js";
import type { PlacedValue } from "./values.js";

/** Name without `vault_`, help, value, and labels of its own. Without a value it is left out. */
type Sample = readonly [
  name: string,
  help: string,
  /** Decimal numbers are exact: Prometheus rounds them to 64-bit floating point. */
  value: string | number | boolean | null | undefined,
  labels?: Readonly<Record<string, string>>,
];

/** The contracts that samples are about, which their labels name. */
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

/** A metric is named once, with the samples of all sources below. */
function render(
  sources: ReadonlyArray<readonly [Source, readonly Sample[]]>,
): string {
  const metrics = new Map<string, string>();
  for (const [{ network, chainId = "", instance = "" }, samples] of sources) {
    for (const [name, help, value, more] of samples) {
      if (value !== null && value !== undefined) {
        const head = `# HELP vault_${name} ${help}\n# TYPE vault_${name} gauge\n`;
        const labels = { network, chain_id: `${chainId}`, instance, ...more };
        const pairs = Object.entries(labels).map(
          ([label, text]) => `${label}="${escape(text)}"`,
        );
        const number = typeof value === "boolean" ? Number(value) : value;
        const line = `vault_${name}{${pairs.join(",")}} ${number}\n`;
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

function samplesOf(state: VaultState): readonly Sample[] {
  const { readings, isUp, keeper, envelope } = state;
  const { number, timestamp } = envelope.block;
  const { expired, secondsToEnd, code, openSettlement: open } = keeper;
  const { canBeSettled } = keeper;
  const able = isFailedReading(canBeSettled) ? null : canBeSettled;
  const [isOpen, since] = isFailedReading(open)
    ? []
    : [open !== null, open?.since];
  const obstacle = { code: code ?? "" };
  return [
    up(isUp),
    ["block_number", "Block of the readings", number],
    ["block_timestamp_seconds", "Its time, Unix seconds", timestamp],
    ...standaloneQueries.map(({ path }): Sample => {
      const isRead = !isFailedReading(get(readings, path));
      const labels = { reading: path.join(".") };
      return ["reading_up", "1 if the reading succeeded", isRead, labels];
    }),
    ...valuesIn(readings).flatMap((one) => sampleOf(one, state)),
    ["round_expired", "1 if the round has ended", expired],
    ["round_remaining_seconds", "Negative after the round's end", secondsToEnd],
    ["can_be_settled", "1 if the next unattended run would settle", able],
    ["settlement_open", "1 if a settlement is under way", isOpen],
    ["settlement_open_since_timestamp_seconds", "When it began", since],
    [
      "settlement_obstacle",
      "1 for what stops a run",
      code === null ? null : 1,
      obstacle,
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

/** A value with its unit in the name: another scale has another name. */
function sampleOf(
  { query, field, value }: PlacedValue,
  { settings }: VaultState,
): readonly Sample[] {
  if (field === undefined) {
    return [];
  }
  const { title, inputs, targetName } = operationEntry(query.operation);
  const [key, variant] = query.path;
  const isOnly = key === field.name;
  const { unit } = field;
  const name = isOnly ? key : `${key}_${field.name.replace(/Time$/u, "")}`;
  const decimals = decimalsOf(field, { ...settings, raw: false });
  const isScaled =
    decimals !== undefined || unit === "none" || unit === "timestamp";
  const suffix = isScaled ? (suffixes[unit] ?? "") : "_raw";
  // A percentage is a hundred times the ratio.
  const scale = (decimals ?? 0) + (unit === "percent" ? 2 : 0);
  const kind = toSnakeCase(targetName ?? inputs[0]?.name ?? "");
  return [
    [
      toSnakeCase(name) + suffix,
      isOnly ? title : `${title}: ${field.label}`,
      typeof value === "bigint" ? toDecimal(value, scale) : value === true,
      variant === undefined ? {} : { [kind]: variant },
    ],
  ];
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_").toLowerCase();
}
