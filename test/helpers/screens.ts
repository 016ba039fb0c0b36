import type { BlockInfo } from "../../src/rpc/blocks.js";
import type { Simulation } from "../../src/types.js";
import type { Output, Part, Style } from "../../tasks/output/screen.js";
import { createStyle, renderText } from "../../tasks/output/screen.js";
import { OPEN_ROUND } from "./scripted-contracts.js";
import { squeezed } from "./use-tasks.js";

export const VAULT = "0x00000000000000000000000000000000000000A1";
export const SENDER = "0x00000000000000000000000000000000000000A2";
export const TOKEN = "0x00000000000000000000000000000000000000A3";
export const OTHER = "0x00000000000000000000000000000000000000A4";

/** 90 seconds before the round's end. */
export const context = {
  chainTime: Number(OPEN_ROUND.endTime) - 90,
  raw: false,
};

export const block: BlockInfo = {
  ...{ number: 12, timestamp: 1_700_000_000, hash: null },
};

export const simulated: Simulation = {
  ...{ status: "settled", code: null, reason: null, engine: "simulateV1" },
  ...{ guard: null, gasUsed: 50_000n, block, changes: [], balances: [] },
  ...{ transfers: [], notes: [] },
};

/** The lines of parts, with their tones as `<bad>text</>`. */
export function linesOf(parts: readonly Part[]): string[] {
  const style: Style = {
    ...{ width: Infinity, instance: "" },
    // Headings of tables and notes beside values are dim.
    paint: (tone, text) =>
      tone === "dim" || tone === "title" ? text : `<${tone}>${text}</>`,
  };
  return squeezed(renderText(parts, style)).split("\n");
}

/** An output that keeps what is written, as that of a file or a pipe. */
export class KeptOutput implements Output {
  public readonly isTTY: boolean;
  public readonly style: Style;
  public readonly write: Output["write"];
  public text = "";

  /** @param isRead False if the reader has closed the pipe. */
  public constructor({
    isTTY = false,
    style = createStyle({}),
    isRead = true,
  } = {}) {
    this.isTTY = isTTY;
    this.style = style;
    this.write = async (text) => {
      this.text += text;
      return await Promise.resolve(isRead);
    };
  }
}
