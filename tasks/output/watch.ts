import type { VaultSnapshot } from "../../src/client/index.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultError } from "../../src/errors.js";
import { placesOf, get, standaloneQueries } from "../../src/protocol/index.js";
import type { DisplaySettings } from "../../src/protocol/index.js";
import { escapeUntrusted, toSafeJson } from "../../src/untrusted-text.js";
import { toDocument } from "../error-texts.js";
import type { Terminal } from "../terminal.js";
import { labelledValues, notes, title } from "./blocks.js";
import type { Block, Envelope } from "./blocks.js";
import { formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { readingsBlock } from "./readings.js";
import { renderText } from "./render-text.js";

/** What there was at one block. */
export interface Sighting {
  readonly envelope: Envelope;
  readonly readings: Omit<VaultSnapshot, "chainId" | "block">;
  /** True if a call of settleAll is accepted; null if that cannot be tried. */
  readonly canBeSettled: boolean | null;
  /** Why not. */
  readonly reason: string | null;
  /** Null if there is no round. */
  readonly expired: boolean | null;
}

/** The first look, a change since the last, or an outage. */
export type WatchEvent = (
  | {
      readonly kind: "first" | "change";
      readonly seen: Sighting;
      /** Names, as in `round.filledVolume`; none after an outage. */
      readonly changed: readonly string[];
    }
  | { readonly kind: "outage"; readonly error: VaultError }
) & {
  /** True if what is waited for has come. */
  readonly isLast: boolean;
};

/** Lines for a person on a terminal, and documents elsewhere. */
export function createDisplay(
  settings: DisplaySettings & {
    readonly json: boolean;
    readonly raw: boolean;
  },
  { isTTY, style }: Terminal["out"],
): (event: WatchEvent) => string {
  if (!isTTY || settings.json) {
    return (event) => `${toSafeJson(toDocument(documentOf(event)))}\n`;
  }
  return (event) => `${renderText(eventBlocks(event, settings), style)}\n`;
}

function documentOf(event: WatchEvent): unknown {
  if (event.kind === "outage") {
    const { code, message } = event.error;
    return { error: { code, message } };
  }
  const {
    seen: { envelope, readings, ...settlement },
    changed,
  } = event;
  return { ...envelope, status: readings, ...settlement, changed };
}

function eventBlocks(
  event: WatchEvent,
  settings: DisplaySettings & { readonly raw: boolean },
): readonly Block[] {
  if (event.kind === "outage") {
    const { shortMessage } = event.error;
    return [
      notes({
        text: `No answer, trying again: ${shortMessage}`,
        tone: "warn",
      }),
    ];
  }
  const { kind, seen, changed } = event;
  const { block } = seen.envelope;
  const context = { ...settings, chainTime: block.timestamp };
  if (kind === "first") {
    return [
      title("Watching", seen.envelope),
      readingsBlock(
        "getLatestRoundInfo",
        [{ value: seen.readings.round }],
        context,
      ),
      notes(describeChange("canBeSettled", seen, context), {
        text: "Ctrl-C ends.",
        tone: "dim",
      }),
    ];
  }
  const changes =
    changed.length === 0
      ? ["answers again"]
      : changed.map((name) => describeChange(name, seen, context));
  return [
    labelledValues(
      changes.map((change) => [
        { text: `block ${block.number}`, tone: "dim" },
        change,
      ]),
    ),
  ];
}

const fields = new Map(
  standaloneQueries
    .flatMap(placesOf)
    .map(({ path, field }) => [path.join("."), field]),
);

/** The name of what changed, and what it is now. */
function describeChange(
  name: string,
  { readings, canBeSettled, expired, reason }: Sighting,
  context: FormatContext,
): string {
  const yesOrNo = (value: boolean | null): string =>
    value === null ? "unknown" : value ? "yes" : "no";
  const field = fields.get(name);
  const value = get(readings, name.split("."));
  const text = isFailedReading(value)
    ? `failed: ${value.error.shortMessage}`
    : field !== undefined
      ? formatValue(field, value, context).text
      : name === "expired"
        ? yesOrNo(expired)
        : `${yesOrNo(canBeSettled)}${reason === null ? "" : `, ${escapeUntrusted(reason)}`}`;
  return `${name}  ${text}`;
}
