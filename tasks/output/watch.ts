import { createLogUpdate } from "log-update";

import type { FailedReading, VaultSnapshot } from "../../src/client/index.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultError } from "../../src/errors.js";
import type { DisplaySettings } from "../../src/protocol/index.js";
import { escapeUntrusted, toSafeJson } from "../../src/untrusted-text.js";
import { toDocument } from "../parse-options.js";
import {
  describeCount,
  fieldOf,
  formatDuration,
  formatValue,
  utilisationBar,
} from "./format-value.js";
import { withMembers } from "./destination.js";
import type { WriteText } from "./destination.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { createStyle } from "./style.js";
import type { Style, View } from "./style.js";
import { renderFacts, wrapText } from "./table.js";
import type { Fact } from "./table.js";

/** What there was at one block. */
export interface Sighting {
  readonly envelope: Envelope;
  readonly readings: Omit<VaultSnapshot, "chainId" | "block">;
  /**
   * Whether a call of settleAll is accepted; null where that cannot be tried.
   */
  readonly canBeSettled: boolean | null;
  /** Why not. */
  readonly reason: string | null;
  /** Whether the round's end is over; null where there is no round. */
  readonly expired: boolean | null;
}

/** Where a watch shows what it sees. */
export interface WatchDisplay {
  /** @param changed Undefined where all is as it was shown before. */
  seen(sighting: Sighting, changed?: readonly string[]): void;
  /** Nobody answered, for so many seconds now. */
  lost(error: VaultError, seconds: number): void;
  /** @param now The chain's clock, Unix seconds, as far as it is known. */
  tick(now: number): void;
  end(): void;
}

/** What a display has to know beside what is seen. */
export interface WatchSettings extends DisplaySettings {
  readonly json: boolean;
  readonly raw: boolean;
  readonly wide?: boolean | undefined;
  readonly intervalSeconds: number;
}

/** Redraws in place on a terminal, and writes a line a change elsewhere. */
export function createDisplay(
  settings: WatchSettings,
  stdout: NodeJS.WriteStream,
  write: WriteText,
): WatchDisplay {
  const writeText = (text: string): true => {
    write(text, () => undefined);
    return true;
  };
  return stdout.isTTY && !settings.json && process.env["TERM"] !== "dumb"
    ? createTerminalDisplay(
        settings,
        createStyle(stdout, settings.wide),
        // Others' writes to stdout are diverted meanwhile; these are not.
        createLogUpdate(withMembers(stdout, { write: writeText })),
      )
    : createLineDisplay(writeText);
}

/** One JSON document a line: nothing where nothing changed but the time. */
export function createLineDisplay(
  write: (line: string) => unknown,
): WatchDisplay {
  let lostCode: string | undefined;
  const writeDocument = (document: unknown): void => {
    write(`${toSafeJson(toDocument(document))}\n`);
  };
  return {
    seen({ envelope, readings, canBeSettled, reason, expired }, changed) {
      lostCode = undefined;
      if (changed === undefined) {
        return;
      }
      writeDocument({
        ...envelope,
        status: readings,
        canBeSettled,
        reason,
        expired,
        changed,
      });
    },
    lost({ code, message }) {
      if (lostCode !== code) {
        lostCode = code;
        writeDocument({ error: { code, message } });
      }
    },
    tick: () => undefined,
    end: () => undefined,
  };
}

/** What redraws a text in place, and leaves it there once it is done. */
interface Drawing {
  (text: string): unknown;
  done(): void;
}

/** One frame, redrawn in place. */
export function createTerminalDisplay(
  settings: WatchSettings,
  style: Style,
  drawing: Drawing,
): WatchDisplay {
  let sighting: Sighting | undefined;
  let trouble: string | undefined;
  let [looks, chainTime] = [0, 0];
  const draw = (): void => {
    if (sighting !== undefined) {
      drawing(
        renderFrame(sighting, {
          ...settings,
          ...style,
          chainTime,
          looks,
          trouble,
        }),
      );
    }
  };
  const tick = (now: number): void => {
    chainTime = Math.max(chainTime, now);
    draw();
  };
  return {
    seen(latest) {
      [sighting, trouble] = [latest, undefined];
      looks += 1;
      tick(latest.envelope.block.timestamp);
    },
    lost({ shortMessage }, seconds) {
      looks += 1;
      trouble = `No answer for ${formatDuration(BigInt(seconds))}, trying again: ${shortMessage}`;
      draw();
    },
    tick,
    end() {
      drawing.done();
    },
  };
}

interface FrameView extends View, Pick<WatchSettings, "intervalSeconds"> {
  readonly looks: number;
  readonly trouble: string | undefined;
}

/** What a terminal shows at one time. */
export function renderFrame(
  { envelope, readings, canBeSettled, reason }: Sighting,
  view: FrameView,
): string {
  const { round, pools, fundingFeeRate, volume } = readings;
  const { looks, trouble, intervalSeconds } = view;
  const settleable =
    canBeSettled === null
      ? view.dim("unknown")
      : canBeSettled
        ? view.good("yes")
        : "no";
  const factOf = <Value>(
    label: string,
    reading: Value | FailedReading,
    show: (value: Value) => readonly [text: string, note?: string],
  ): Fact => [
    label,
    ...(isFailedReading(reading)
      ? ([view.bad("failed"), reading.error.shortMessage] as const)
      : show(reading)),
  ];
  const facts: Fact[] = [
    ...(isFailedReading(round)
      ? [factOf("Round", round, () => [""])]
      : roundFacts(round, view)),
    ["Can be settled", settleable, escapeUntrusted(reason ?? "")],
    ...Object.entries(fundingFeeRate).map(([name, rate]) =>
      factOf(`Rate, ${name}`, rate, (value) => [
        formatValue(fieldOf("getFundingFeeRate", "fundingFeeRate"), value, view)
          .text,
      ]),
    ),
    ...Object.entries(pools).map(([name, pool]) =>
      factOf(`Pool, ${name}`, pool, ({ locked, deposit }) => [
        utilisationBar(locked, deposit),
        "used",
      ]),
    ),
    factOf("Volume", volume, (value) => [
      formatValue(fieldOf("queryVolume", "volume"), value, view).text,
    ]),
  ];
  return [
    renderHeading("Watching", envelope, view),
    renderFacts(facts, view),
    wrapText(
      trouble === undefined
        ? view.dim(
            `${describeCount(looks, "look")}, one every ${intervalSeconds} s. Ctrl-C ends.`,
          )
        : view.warn(trouble),
      view,
    ),
  ].join("\n");
}

function roundFacts(
  round: Exclude<Sighting["readings"]["round"], FailedReading>,
  context: FormatContext,
): Fact[] {
  return [
    ...(["strikePrice", "startTime", "endTime"] as const).map((name): Fact => {
      const field = fieldOf("getLatestRoundInfo", name);
      const { text, note = "" } = formatValue(field, round[name], context);
      return [field.label, text, note];
    }),
    ["Filled", utilisationBar(round.filledVolume, round.maxVolume)],
    ["Settled", round.settled ? "yes" : "no"],
  ];
}
