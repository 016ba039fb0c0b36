import { ErrorFragment } from "ethers";

/** Errors of RoundGuard.sol, without its code: all that reads reverts needs them. */
export const guardErrors: readonly ErrorFragment[] = [
  "NestedCall()",
  "NotSettler(address caller)",
  "NotSettling()",
  "PaymentRefused()",
  "RoundAlreadySettled()",
  "RoundChanged(uint256 startTime, uint256 strikePrice)",
  "RoundNotEnded(uint256 endTime)",
  "RoundNotSettled()",
].map((signature) => ErrorFragment.from(`error ${signature}`));
