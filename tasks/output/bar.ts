const BAR_WIDTH = 24;

/**
 * A bar of how much of a whole is used, with the percentage to one decimal,
 * rounded down so that 100 % means all of it.
 */
export function utilisationBar(part: bigint, whole: bigint): string {
  const share = describeShare(part, whole);
  if (whole === 0n) {
    return `${"░".repeat(BAR_WIDTH)} (${share})`;
  }
  const perMille = (part * 1000n) / whole;
  const blocks = Number((perMille * BigInt(BAR_WIDTH)) / 1000n);
  return `${"█".repeat(Math.min(blocks, BAR_WIDTH)).padEnd(BAR_WIDTH, "░")} ${share}`;
}

/** That percentage alone, as in `42.0 %`. */
export function describeShare(part: bigint, whole: bigint): string {
  if (whole === 0n) {
    return "nothing to fill";
  }
  const perMille = (part * 1000n) / whole;
  return `${perMille / 10n}.${perMille % 10n} %`;
}
