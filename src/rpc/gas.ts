/** EIP-7825: what one transaction may use, from the osaka hardfork on. */
export const TRANSACTION_GAS_CAP = 16_777_216n;

/** In per cent; what a call inside was not given is left over, 1/64 per depth. */
const USED_UP_PERCENT = 95n;

/** True if a failed call used all of its gas, as one short of gas does. */
export function isUsedUp({
  gasUsed,
  gasGiven,
}: {
  readonly gasUsed: bigint;
  readonly gasGiven: bigint;
}): boolean {
  return gasUsed * 100n >= gasGiven * USED_UP_PERCENT;
}
