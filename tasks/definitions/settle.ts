import {
  flag,
  gasPrice,
  integer,
  option,
  seconds,
  tokenList,
} from "./options.js";
import { at, describeTask, settler } from "./shared.js";

export const settleTask = describeTask(
  "Settle the vault's current round",
  {
    at,
    yes: flag(
      "Settle without a question; first finish an interrupted settlement",
    ),
    ifExpired: flag("Settle only an ended round; else exit with 0"),
    partial: flag(
      "Settle also if the round is not settled by it, as with several transactions",
    ),
    maxFeePerGas: option(
      gasPrice,
      "Highest price of a unit of gas; above it nothing is sent",
      {
        default:
          "maxFeePerGasLimit of the configuration; else --yes refuses on a live chain",
      },
    ),
    tokens: option(tokenList, "ERC-20 tokens that a guard forwards", {
      default: "`tokens` of the configuration",
    }),
    retryReverted: flag(
      "With --yes: settle also if the last settlement of the round reverted",
    ),
    from: settler("Account that settles"),
    confirmations: option(integer, "Confirmations to wait for", {
      default: "3; 1 on a development node, or if maxHeadAge is false",
    }),
    timeout: option(seconds(), "Stop waiting after this many seconds", {
      default: "300",
    }),
    resume: flag("Only finish an interrupted settlement; start no other"),
    bump: flag("With --resume: send it again at a higher fee"),
    cancel: flag(
      "With --resume: use its nonce for a transfer of 0 to the account itself",
    ),
    assert: flag("Send nothing; exit with 1 if a round is to be settled"),
    calldata: flag(
      "Send nothing; print the unsigned transaction, with a gas estimate if --from is given",
    ),
    safe: flag("Print --calldata as a file for Safe's Transaction Builder"),
  },
  [
    ["assert", "calldata", "resume"],
    ["bump", "cancel"],
    ["retryReverted", "assert", "calldata", "resume"],
    ["calldata", "partial"],
    ["calldata", "maxFeePerGas"],
  ],
);
