import { min } from "@nomicfoundation/hardhat-utils/bigint";

import { mockHint } from "../client/addresses.js";
import { isFailedReading } from "../client/failed-reading.js";
import { vaultError } from "../errors.js";
import { OTHER_ORIGIN, keepsTokens } from "../guard/call.js";
import {
  explainRefusal,
  fateOf,
  innerReason,
  outOfGas,
} from "../guard/outcome.js";
import type { GasLimit, Refusal } from "../guard/outcome.js";
import type { VaultHost } from "../host.js";
import { formatGasPrice } from "../protocol/amounts.js";
import type { Address } from "../protocol/index.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import { decodeRevertReason, invalidOpcode } from "../rpc/revert-reason.js";
import { isContract, isOutOfGas } from "./engines/engine.js";
import type { Attempt, FailedCall, Run } from "./engines/engine.js";
import { gainOf } from "./tokens.js";
import type { Simulation } from "./types.js";
import { accountIn, changesBetween, roundOf } from "./watch-list.js";
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
}

export async function describe(
  vault: VaultHost,
  { attempt, run, before, after, kept, orders }: Effects,
): Promise<Simulation> {
  const { route } = attempt;
  const { engine, failed, gasUsed, gasPrice, block, transfers } = run;
  const { from: sender, guard } = route;
  const isSettled = hasSettled(before, after);
  const refusal =
    failed !== undefined
      ? await explainFailure(vault, attempt, failed)
      : isSettled === true
        ? null
        : unsettled(vault, isSettled);
  // A contract that settles may spend what it has.
  const [funds = 0n, fundsAfter = 0n] = [before, after].map(
    ({ balances }) => balances[0]?.amount,
  );
  const isOther = isContract(accountIn(before, sender));
  const fee = isOther ? 0n : gasUsed * gasPrice;
  const isTooPoor = min(funds, fundsAfter) < fee;
  const balances = before.balances.map(({ amount, ...one }, index) => ({
    ...one,
    before: amount,
    after: after.balances[index]?.amount ?? 0n,
  }));
  const unread = orders - countOrders(before);
  const hint = mockHint((await vault.addressOf("vault")).source);
  const notes = [
    failed !== undefined && refusal?.reason.endsWith(hint ?? "") === false
      ? hint
      : undefined,
    guard !== undefined && kept.length > 0
      ? keepsTokens(vault, guard, kept).message
      : undefined,
    unread > 0
      ? `Orders that could not be read: ${unread} of ${orders}.`
      : undefined,
    failed === undefined && isSettled === undefined
      ? "The round cannot be read before or after the call, so it may be settled or not."
      : undefined,
    ...balances
      .filter(({ token }) => token === "native")
      .map((one) => surplusNote(one, failed === undefined ? transfers : [])),
    attempt.gasPrice !== undefined
      ? undefined
      : gasPrice === 0n
        ? "The price of gas is not known: no fee is subtracted, and the contract saw a price of 0."
        : `The price of gas is not known: the contract saw the base fee, ${formatGasPrice(gasPrice)}, and the fee is at this price.`,
    capNote(run),
    isOther ? OTHER_ORIGIN : undefined,
    isTooPoor
      ? `The sender cannot pay for gas: it has ${min(funds, fundsAfter)} wei, and the fee is ${fee} wei. The fee was lent to it, and is not subtracted.`
      : fee > 0n && (run.lent > 0n || run.feePaid === 0n)
        ? "The contract saw the sender's balance before it pays for gas: one that reads the balance can do something else when it is mined."
        : undefined,
    ...run.notes,
  ];
  return {
    status:
      failed !== undefined
        ? "reverted"
        : isSettled === true
          ? "settled"
          : "not-settled",
    code: refusal?.code ?? null,
    reason: refusal?.reason ?? null,
    engine,
    guard: guard?.address ?? null,
    gasUsed,
    block,
    changes: changesBetween(before.readings, after.readings),
    balances: balances
      .map((one, index) => ({
        ...one,
        // The first is the sender's native currency.
        after: one.after - (index === 0 && !isTooPoor ? fee : 0n),
      }))
      .filter((one) => one.before !== one.after),
    transfers,
    notes: notes.filter((note) => note !== undefined),
  };
}

/** @returns Undefined if the round cannot be read. */
function hasSettled(
  before: ChainState,
  after: ChainState,
): boolean | undefined {
  const [earlier, later] = [roundOf(before), roundOf(after)];
  if (later === undefined) {
    return undefined;
  }
  return earlier === undefined
    ? later.settled || undefined
    : ["settled", "followed"].includes(fateOf(earlier, later));
}

function unsettled(
  { networkName: network }: VaultHost,
  isSettled: false | undefined,
): Refusal {
  const { code, shortMessage } = vaultError("VAULT_NOT_SETTLED", { network });
  const unread = "The round cannot be read before or after the call.";
  return { code, reason: isSettled === undefined ? unread : shortMessage };
}

/** An account has more, or less, than follows from the transfers. */
function surplusNote(
  {
    account,
    before,
    after,
  }: Record<"before" | "after", bigint> & {
    readonly account: Address;
  },
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

/** Number of orders that could be read. */
export function countOrders({ readings }: ChainState): number {
  return [...readings].filter(
    ([name, value]) => name.startsWith("orders.") && !isFailedReading(value),
  ).length;
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
  if (inner.data !== "0x" || invalid !== undefined) {
    return await explainRefusal(vault, invalid ?? reverted, route);
  }
  if (isOutOfGas(failed)) {
    const limit = limitOf(vault, attempt, failed);
    return outOfGas(vault.networkName, message !== undefined, limit);
  }
  return message === undefined
    ? await explainRefusal(vault, reverted, route)
    : {
        code: "VAULT_CALL_REVERTED",
        reason: vault.rpc.redactor.quote(message),
      };
}

function limitOf(
  { networkName }: VaultHost,
  { isGasGiven, next }: Attempt,
  { gasGiven: gas }: FailedCall,
): GasLimit {
  const settings = `networks.${networkName}`;
  if (isGasGiven) {
    return {
      gas,
      limit: "it is given",
      remedy: `Raise ${settings}.gas, or \`gas\` of simulateSettleAll().`,
    };
  }
  return gas === next.gasLimit
    ? {
        gas,
        limit: "a block of this chain has room for",
        remedy:
          "No transaction may use more on this chain: the contract has to settle in parts.",
      }
    : {
        gas,
        limit:
          gas === TRANSACTION_GAS_CAP
            ? "this network allows one transaction (EIP-7825, from the hardfork osaka on)"
            : `${settings}.transactionGasCap allows one transaction`,
        remedy: `If the chain has no such limit, raise ${settings}.transactionGasCap, or simulate with an older hardfork, for example prague.`,
      };
}
