import { min } from "@nomicfoundation/hardhat-utils/bigint";

import { mockHint } from "../client/addresses.js";
import { OTHER_ORIGIN, keepsTokens } from "../guard/call.js";
import { explainRefusal, innerReason, outOfGas } from "../guard/refusal.js";
import type { Refusal } from "../guard/refusal.js";
import type { VaultHost } from "../host.js";
import { fateOf, formatGasPrice } from "../protocol/round.js";
import type { Address } from "../protocol/index.js";
import { TRANSACTION_GAS_CAP } from "../rpc/blocks.js";
import { decodeRevertReason, invalidOpcode } from "../rpc/revert-reason.js";
import { isContract, isOutOfGas } from "./engines/engine.js";
import type { Attempt, FailedCall, Run } from "./engines/engine.js";
import { NATIVE, gainOf } from "./tokens.js";
import type { BalanceChange, Simulation } from "./types.js";
import {
  accountIn,
  changesBetween,
  countOrders,
  roundOf,
} from "./watch-list.js";
import type { ChainState } from "./watch-list.js";

/** A settlement that was executed, and the state without and with it. */
export interface Effects {
  readonly attempt: Attempt;
  readonly run: Run;
  readonly before: ChainState;
  readonly after: ChainState;
  /** Tokens that stay in the guard. */
  readonly kept: readonly Address[];
  /** Orders that were to be read. */
  readonly orders: number;
  /** Of the vault's address. */
  readonly source: string;
}

export async function describe(
  vault: VaultHost,
  { attempt, run, before, after, kept, orders, source }: Effects,
): Promise<Simulation> {
  const { guard, from } = attempt.route;
  const { engine, failed, gasUsed, gasPrice, block, transfers } = run;
  const outcome =
    failed === undefined
      ? outcomeOf(vault.networkName, before, after)
      : {
          status: "reverted" as const,
          ...(await explainFailure(vault, attempt, failed)),
        };
  const hint = mockHint(source);
  const unread = orders - countOrders(before);
  // The first is the sender's native currency.
  const balances = before.balances.map(({ amount, ...one }, index) => ({
    ...one,
    before: amount,
    after: after.balances[index]?.amount ?? 0n,
  }));
  const isOther = isContract(accountIn(before, from));
  const fee = isOther ? 0n : gasUsed * gasPrice;
  // A contract that settles may spend what it has.
  const funds = min(balances[0]?.before ?? 0n, balances[0]?.after ?? 0n);
  const isTooPoor = funds < fee;
  const notes = [
    failed !== undefined &&
      hint !== undefined &&
      outcome.reason?.endsWith(hint) === false &&
      hint,
    guard !== undefined &&
      kept.length > 0 &&
      keepsTokens(vault, guard, kept).message,
    unread > 0 && `Orders that could not be read: ${unread} of ${orders}.`,
    ...balances
      .filter(({ token }) => token === NATIVE)
      .map((one) => surplusNote(one, failed === undefined ? transfers : [])),
    attempt.gasPrice === undefined &&
      `The price of gas is not known: the contract saw a price of ${formatGasPrice(gasPrice)}, and the fee is at this price.`,
    capNote(run),
    isOther && OTHER_ORIGIN,
    isTooPoor &&
      `The sender cannot pay for gas: it has ${funds} wei, and the fee is ${fee} wei. The fee was lent to it, and is not subtracted.`,
    !isTooPoor &&
      fee > 0n &&
      (run.lent > 0n || run.feePaid === 0n) &&
      "The contract saw the sender's balance before it pays for gas: one that reads the balance can do something else when it is mined.",
    ...run.notes,
  ];
  return {
    ...outcome,
    engine,
    guard: guard?.address ?? null,
    gasUsed,
    block,
    changes: changesBetween(before.readings, after.readings),
    balances: balances
      .map((one, index) => ({
        ...one,
        after: one.after - (index === 0 && !isTooPoor ? fee : 0n),
      }))
      .filter((one) => one.before !== one.after),
    transfers,
    notes: notes.filter((note) => typeof note === "string"),
  };
}

/** What became of the round by a call that succeeded. */
function outcomeOf(
  network: string,
  before: ChainState,
  after: ChainState,
): Pick<Simulation, "status" | "code" | "reason"> {
  const [earlier, later] = [roundOf(before), roundOf(after)];
  const isKnown = later !== undefined && earlier !== undefined;
  if (
    isKnown
      ? ["settled", "followed"].includes(fateOf(earlier, later))
      : later?.settled === true
  ) {
    return { status: "settled", code: null, reason: null };
  }
  const code = "VAULT_WOULD_NOT_SETTLE";
  const reason = isKnown
    ? `The contract accepts the call on network ${network}, but the round is not settled by it.`
    : "The round cannot be read before or after the call, so it may be settled or not.";
  return { status: "not-settled", code, reason };
}

/** An account has more, or less, than follows from the transfers. */
function surplusNote(
  { account, before, after }: BalanceChange,
  transfers: Run["transfers"],
): string | undefined {
  const surplus = after - before - gainOf(account, transfers);
  return surplus === 0n
    ? undefined
    : `The list of transfers is not right: ${account} ends with ${surplus < 0n ? `${-surplus} wei less` : `${surplus} wei more`} than the listed transfers give it, as when a payment inside fails or a contract destroys itself.`;
}

function capNote({ failed, gasUsed, gasNeeded }: Run): string | undefined {
  const [needed, limit] =
    failed === undefined
      ? [gasNeeded, `, for which a limit of ${gasNeeded} may be needed`]
      : [gasUsed, ", and fails"];
  return needed > TRANSACTION_GAS_CAP
    ? `It uses ${gasUsed} gas${limit}: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`
    : undefined;
}

/** Explains why a settlement failed that was executed. */
async function explainFailure(
  vault: VaultHost,
  attempt: Attempt,
  failed: FailedCall,
): Promise<Refusal> {
  const { route } = attempt;
  const reverted = decodeRevertReason(failed.data);
  const inner = innerReason(reverted, route);
  // The node's text is about the guard, not about what the guard wraps.
  const message = inner === reverted ? failed.message : undefined;
  const invalid = invalidOpcode(message ?? "");
  if (inner.data === "0x" && invalid === undefined) {
    if (isOutOfGas(failed)) {
      return exhausted(vault, attempt, failed, message !== undefined);
    }
    if (message !== undefined) {
      const reason = vault.rpc.redactor.quote(message);
      return { code: "VAULT_CALL_REVERTED", reason };
    }
  }
  return await explainRefusal(vault, invalid ?? reverted, route);
}

function exhausted(
  { networkName }: VaultHost,
  { isGasGiven, next }: Attempt,
  { gasGiven: gas }: FailedCall,
  isCertain: boolean,
): Refusal {
  const [limit, remedy] = isGasGiven
    ? [
        "it is given",
        `Raise networks.${networkName}.gas, or \`gas\` of simulateSettleAll().`,
      ]
    : gas === next.gasLimit
      ? [
          "a block of this chain has room for",
          "No transaction may use more on this chain: the contract has to settle in parts.",
        ]
      : [
          "this network allows one transaction (EIP-7825, or `transactionGasCap`)",
          `If the chain has no such limit, raise networks.${networkName}.transactionGasCap, or simulate with an older hardfork, for example prague.`,
        ];
  return outOfGas(networkName, isCertain, { gas, limit, remedy });
}
