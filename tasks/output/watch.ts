import type { VaultSnapshot } from "../../src/client/index.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultError } from "../../src/errors.js";
import { placesOf, get, standaloneQueries } from "../../src/protocol/index.js";
import type { DisplaySettings } from "../../src/protocol/index.js";
import { escapeUntrusted, toSafeJson } from "../../src/untrusted-text.js";
import { toDocument } from "../parse-options.js";
import { formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { renderReadings } from "./readings.js";
import { createStyle } from "./style.js";
import type { StyledStream, View } from "./style.js";
import { wrapText } from "./table.js";

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
  stdout: StyledStream,
): (event: WatchEvent) => string {
  if (stdout.isTTY !== true || settings.json) {
    return (event) => `${toSafeJson(toDocument(documentOf(event)))}\n`;
  }
  const style = createStyle(stdout);
  return (event) =>
    `${renderEvent(event, (chainTime) => ({ ...settings, ...style, chainTime }))}\n`;
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

function renderEvent(
  event: WatchEvent,
  viewAt: (chainTime: number) => View,
): string {
  if (event.kind === "outage") {
    const view = viewAt(0);
    const { shortMessage } = event.error;
    return wrapText(
      view.warn(`No answer, trying again: ${shortMessage}`),
      view,
    );
  }
  const { kind, seen, changed } = event;
  const { block } = seen.envelope;
  const view = viewAt(block.timestamp);
  if (kind === "first") {
    return [
      renderHeading("Watching", seen.envelope, view),
      renderReadings(
        "getLatestRoundInfo",
        [{ value: seen.readings.round }],
        view,
      ),
      wrapText(renderChange("canBeSettled", seen, view), view),
      view.dim("Ctrl-C ends."),
    ].join("\n");
  }
  const changes = changed.map((name) => renderChange(name, seen, view));
  return (changes.length === 0 ? ["answers again"] : changes)
    .map((change) =>
      wrapText(`${view.dim(`block ${block.number}`)}  ${change}`, view),
    )
    .join("\n");
}

const fields = new Map(
  standaloneQueries
    .flatMap(placesOf)
    .map(({ path, field }) => [path.join("."), field]),
);

/** The name of what changed, and what it is now. */
function renderChange(
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
