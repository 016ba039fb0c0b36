import { ErrorFragment } from "ethers";

/** Errors of RoundGuard.sol, without its code: all that reads reverts needs them. */
export const guardErrors: readonly ErrorFragment[] = [
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
].map((signature) => ErrorFragment.from(`error ${signature}`));
