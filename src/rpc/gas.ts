/** Gas limit of a transaction by EIP-7825, from the osaka hardfork on. */
export const TRANSACTION_GAS_CAP = 16_777_216n;

/** Less than 100: a call keeps 1/64 of its gas from each call inside. */
const USED_UP_PERCENT = 95n;

/** True if a failed call probably ran out of gas. */
export function isUsedUp({
  gasUsed,
  gasGiven,
}: {
  readonly gasUsed: bigint;
  readonly gasGiven: bigint;
}): boolean {
  return gasUsed * 100n >= gasGiven * USED_UP_PERCENT;
}
