import { formatUnits } from "ethers";

import { groupDigits } from "./units.js";

/** Example: `5,000,000.25`. A whole number has no `.0`. */
export function scale(value: bigint, decimals: number): string {
  return groupDigits(toDecimal(value, decimals));
}

/** The same without grouped digits, for programs. */
export function toDecimal(value: bigint, decimals: number): string {
  return formatUnits(value, decimals).replace(/\.0$/u, "");
}

export const NATIVE_DECIMALS = 18;

export function formatNative(wei: bigint): string {
  return scale(wei, NATIVE_DECIMALS);
}

/** A price of gas. Example: `12.5 gwei`. */
export function formatGasPrice(wei: bigint): string {
  return wei < 100_000n ? `${wei} wei` : `${scale(wei, 9)} gwei`;
}
