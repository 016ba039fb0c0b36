import { formatUnits } from "ethers";

import type { Field } from "../../src/protocol/index.js";
import { LAST_DATE_SECONDS } from "../../src/protocol/time.js";
import { decimalsOf } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";

/** Where values go along an axis. A position, unlike a figure, may be rounded. */
export interface Axis {
  /** What a mark of 1 on it stands for, as in `raw, in 10²¹`; null for itself. */
  readonly label: string | null;
  readonly position: (value: bigint) => number;
}

/** A time as a date, for an axis. */
export function toDate(seconds: bigint): Date | undefined {
  return seconds > 0n && seconds <= LAST_DATE_SECONDS
    ? new Date(Number(seconds) * 1000)
    : undefined;
}

/** From here on figures are read in thousands, millions and so on. */
const READABLE = 1e6;

/** An axis for values of a field, in a power of ten that keeps its marks short. */
export function axisOf(
  field: Field,
  values: readonly bigint[],
  context: FormatContext,
): Axis {
  const decimals = decimalsOf(field, context);
  const toNumber = (value: bigint): number =>
    Number(decimals === undefined ? value : formatUnits(value, decimals));
  const largest = values.reduce(
    (most, value) => (value > most ? value : most),
    0n,
  );
  const magnitude = toNumber(largest);
  const exponent =
    magnitude < READABLE ? 0 : 3 * Math.floor(Math.log10(magnitude) / 3);
  const superscript = String(exponent).replaceAll(
    /[0-9]/gu,
    (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "",
  );
  const words = [
    ...(decimals === undefined
      ? ["raw"]
      : field.unit === "percent"
        ? ["%"]
        : []),
    ...(exponent === 0 ? [] : [`in 10${superscript}`]),
  ];
  return {
    label: words.length === 0 ? null : words.join(", "),
    position: (value) => toNumber(value) / 10 ** exponent,
  };
}
