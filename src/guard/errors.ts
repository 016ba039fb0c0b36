import { ErrorFragment } from "ethers";

const signatures = [
  "FactoryReverted(bytes reason)",
  "NestedCall()",
  "NotSettler(address caller)",
  "NotSettling()",
  "PaymentRefused()",
  "RoundAlreadySettled()",
  "RoundChanged(uint256 startTime, uint256 strikePrice)",
  "RoundNotEnded(uint256 endTime)",
  "RoundNotSettled()",
  "TokenNotForwarded(address token)",
  "VaultReverted(bytes reason)",
];

let parsed: readonly ErrorFragment[] | undefined;

/**
 * Errors of RoundGuard.sol, without its code: all that reads reverts needs them. Parsed on
 * first use, since every connection loads this file.
 */
export function guardErrors(): readonly ErrorFragment[] {
  return (parsed ??= signatures.map((signature) =>
    ErrorFragment.from(`error ${signature}`),
  ));
}
