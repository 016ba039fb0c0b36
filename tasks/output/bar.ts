const BAR_WIDTH = 24;

/**
 * A bar of how much of a whole is used, with the percentage to one decimal,
 * rounded down so that 100 % means all of it.
 */
export function utilisationBar(part: bigint, whole: bigint): string {
  if (whole === 0n) {
    return `${"░".repeat(BAR_WIDTH)} (${describeShare(part, whole)})`;
  }
  const perMille = (part * 1000n) / whole;
  const filled = Number(
    (perMille > 1000n ? 1000n : perMille) * BigInt(BAR_WIDTH),
  );
  const blocks = Math.floor(filled / 1000);
  return `${"█".repeat(blocks)}${"░".repeat(BAR_WIDTH - blocks)} ${describeShare(part, whole)}`;
}

/** That percentage alone, as in `42.0 %`. */
export function describeShare(part: bigint, whole: bigint): string {
  if (whole === 0n) {
    return "nothing to fill";
  }
  const perMille = (part * 1000n) / whole;
  return `${perMille / 10n}.${perMille % 10n} %`;
}
