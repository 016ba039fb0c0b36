import { createLogUpdate } from "log-update";

import type { VaultSnapshot } from "../../src/client/index.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultError } from "../../src/errors.js";
import type { DisplaySettings, PoolAmounts } from "../../src/protocol/index.js";
import { operations } from "../../src/protocol/index.js";
import { toJsonValue } from "../../src/json.js";
import { escapeUntrusted, toSafeJson } from "../../src/untrusted-text.js";
import { utilisationBar } from "./bar.js";
import type { WriteText } from "./destination.js";
import { describeCount, formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { createStyle } from "./style.js";
import type { Style } from "./style.js";
import { renderFacts, wrapText } from "./table.js";
import type { Fact } from "./table.js";
import { formatDuration } from "./time.js";

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
  /** Something is there that was not shown before. */
  seen(sighting: Sighting, changed: readonly string[]): void;
  /** All is as it was. */
  same(sighting: Sighting): void;
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
  readonly network: string;
  readonly intervalSeconds: number;
}

/** Redraws in place on a terminal, and writes a line a change elsewhere. */
export function createDisplay(
  settings: WatchSettings,
  stdout: NodeJS.WriteStream,
  write: WriteText,
): WatchDisplay {
  return stdout.isTTY && !settings.json && process.env["TERM"] !== "dumb"
    ? new TerminalDisplay(
        settings,
        createStyle(stdout, settings.wide),
        drawOn(stdout, write),
      )
    : new LineDisplay((line) => {
        write(line, () => undefined);
      });
}

/** What redraws a text in place. */
export interface Drawing {
  draw(text: string): void;
  /** Leaves the text where it is, and the cursor as it was. */
  done(): void;
}

function drawOn(stdout: NodeJS.WriteStream, write: WriteText): Drawing {
  // Others' writes to stdout are diverted meanwhile; these are not.
  const stream = new Proxy(stdout, {
    get(target, name): unknown {
      return name === "write"
        ? (text: string): unknown => write(text, () => undefined)
        : Reflect.get(target, name);
    },
  });
  const update = createLogUpdate(stream);
  return {
    draw: (text) => {
      update(text);
    },
    done: () => {
      update.done();
    },
  };
}

/** One JSON document a line. */
export class LineDisplay implements WatchDisplay {
  readonly #write: (line: string) => void;
  #lost: string | undefined;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  public seen(
    { envelope, readings, canBeSettled, reason, expired }: Sighting,
    changed: readonly string[],
  ): void {
    this.#lost = undefined;
    this.#line({
      ...envelope,
      status: readings,
      canBeSettled,
      reason,
      expired,
      changed,
    });
  }

  public same(): void {
    // Nothing changed, nothing is said.
  }

  public lost({ code, message }: VaultError): void {
    if (this.#lost !== code) {
      this.#lost = code;
      this.#line({ error: { code, message } });
    }
  }

  public tick(): void {
    // Time is no change.
  }

  public end(): void {
    // Every line was whole.
  }

  #line(document: unknown): void {
    this.#write(`${toSafeJson(toJsonValue(document))}\n`);
  }
}

/** One frame, redrawn in place. */
export class TerminalDisplay implements WatchDisplay {
  readonly #settings: WatchSettings;
  readonly #style: Style;
  readonly #drawing: Drawing;
  #sighting: Sighting | undefined;
  #trouble: string | undefined;
  #looks = 0;
  #now = 0;

  constructor(settings: WatchSettings, style: Style, drawing: Drawing) {
    this.#settings = settings;
    this.#style = style;
    this.#drawing = drawing;
  }

  public seen(sighting: Sighting): void {
    this.same(sighting);
  }

  public same(sighting: Sighting): void {
    this.#sighting = sighting;
    this.#trouble = undefined;
    this.#looks += 1;
    this.#now = Math.max(this.#now, sighting.envelope.block.timestamp);
    this.#draw();
  }

  public lost({ shortMessage }: VaultError, seconds: number): void {
    this.#looks += 1;
    this.#trouble = `No answer for ${formatDuration(BigInt(seconds))}, trying again: ${shortMessage}`;
    this.#draw();
  }

  public tick(now: number): void {
    this.#now = Math.max(this.#now, now);
    this.#draw();
  }

  public end(): void {
    this.#drawing.done();
  }

  #draw(): void {
    if (this.#sighting === undefined) {
      return;
    }
    this.#drawing.draw(
      renderFrame(
        this.#sighting,
        {
          ...this.#settings,
          chainTime: this.#now,
          looks: this.#looks,
          trouble: this.#trouble,
        },
        this.#style,
      ),
    );
  }
}

interface FrameContext
  extends FormatContext, Pick<WatchSettings, "intervalSeconds"> {
  readonly looks: number;
  readonly trouble: string | undefined;
}

/** What a terminal shows at one time. */
export function renderFrame(
  { envelope, readings, canBeSettled, reason }: Sighting,
  context: FrameContext,
  style: Style,
): string {
  const { round, pools, fundingFeeRate, volume } = readings;
  const { looks, trouble, intervalSeconds } = context;
  const settleable =
    canBeSettled === null
      ? style.dim("unknown")
      : canBeSettled
        ? style.good("yes")
        : "no";
  const facts: Fact[] = [
    ...(isFailedReading(round)
      ? [failedFact("Round", round.error, style)]
      : roundFacts(round, context)),
    ["Can be settled", settleable, escapeUntrusted(reason ?? "")],
    ...Object.entries(fundingFeeRate).map(([name, rate]): Fact =>
      isFailedReading(rate)
        ? failedFact(`Rate, ${name}`, rate.error, style)
        : [
            `Rate, ${name}`,
            formatValue(operations.getFundingFeeRate.outputs[0], rate, context)
              .text,
          ],
    ),
    ...Object.entries(pools).map(([name, pool]): Fact =>
      isFailedReading(pool)
        ? failedFact(`Pool, ${name}`, pool.error, style)
        : [`Pool, ${name}`, usedOf(pool), "used"],
    ),
    isFailedReading(volume)
      ? failedFact("Volume", volume.error, style)
      : [
          "Volume",
          formatValue(operations.queryVolume.outputs[0], volume, context).text,
        ],
  ];
  return [
    renderHeading("Watching", envelope, style),
    renderFacts(facts, style),
    wrapText(
      trouble === undefined
        ? style.dim(
            `${describeCount(looks, "look")}, one every ${intervalSeconds} s. Ctrl-C ends.`,
          )
        : style.warn(trouble),
      style,
    ),
  ].join("\n");
}

function roundFacts(
  round: Exclude<Sighting["readings"]["round"], { error: unknown }>,
  context: FormatContext,
): Fact[] {
  const shown = ["strikePrice", "startTime", "endTime"] as const;
  const fields = operations.getLatestRoundInfo.outputs;
  return [
    ...shown.flatMap((name): Fact[] =>
      fields
        .filter((field) => field.name === name)
        .map((field) => {
          const { text, note = "" } = formatValue(field, round[name], context);
          return [field.label, text, note];
        }),
    ),
    ["Filled", utilisationBar(round.filledVolume, round.maxVolume)],
    ["Settled", round.settled ? "yes" : "no"],
  ];
}

function usedOf({ locked, deposit }: PoolAmounts): string {
  return utilisationBar(locked, deposit);
}

function failedFact(label: string, error: VaultError, style: Style): Fact {
  return [label, style.bad("failed"), error.shortMessage];
}
