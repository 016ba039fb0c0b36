import { formatUnits } from "ethers";

import { describeEnumValue, units } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { formatCountdown, formatTimestamp } from "./time.js";

/** What is needed to show a value to a person. */
export interface FormatContext {
  /** The configured token precision of the network. */
  readonly tokenDecimals: number | undefined;
  /** The chain's clock, Unix seconds. */
  readonly chainTime: number;
  /** Show integers as on the wire. */
  readonly raw: boolean;
}

/** A value as shown, and what a person has to know about it. */
export interface FormattedValue {
  readonly text: string;
  readonly note?: string;
}

/** Scales a value for display by its documented unit, and by nothing else. */
export function formatValue(
  { type, unit }: Pick<Field, "type" | "unit">,
  value: unknown,
  { tokenDecimals, chainTime, raw }: FormatContext,
): FormattedValue {
  if (typeof value === "boolean") {
    return { text: value ? "yes" : "no" };
  }
  if (typeof value === "number") {
    const text = String(value);
    if (raw || (unit !== "contractType" && unit !== "orderState")) {
      return { text };
    }
    const word = describeEnumValue(unit, value);
    return { text: word.startsWith("unknown") ? word : `${word} (${text})` };
  }
  if (typeof value !== "bigint") {
    return { text: escapeUntrusted(String(value)) };
  }
  if (raw || type !== "uint256") {
    return { text: value.toString() };
  }
  switch (unit) {
    case "rate":
    case "price":
      return { text: scale(value, units[unit].decimals) };
    case "percent":
      return { text: `${scale(value, units.percent.decimals)} %` };
    case "token":
      return tokenDecimals === undefined
        ? { text: value.toString(), note: "raw; tokenDecimals is not set" }
        : { text: `${scale(value, tokenDecimals)} tokens` };
    case "timestamp":
      return {
        text: formatTimestamp(value),
        note: formatCountdown(value, chainTime),
      };
    case "raw":
      return { text: value.toString(), note: "raw; scale not documented" };
    case "contractType":
    case "orderState":
    case "none":
      return { text: value.toString() };
  }
}

function scale(value: bigint, decimals: number): string {
  return formatUnits(value, decimals).replace(/\.0$/u, "");
}
