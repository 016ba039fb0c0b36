import { min } from "@nomicfoundation/hardhat-utils/bigint";

import { isFailedReading } from "../client/read-at-block.js";
import { OTHER_ORIGIN, keepsTokens } from "../guard/call.js";
import {
  explainRefusal,
  innerReason,
  isOutOfGas,
  outOfGas,
} from "../guard/refusal.js";
import type { FailedCall, Refusal } from "../guard/refusal.js";
import type { VaultHost } from "../host.js";
import { fateOf } from "../protocol/round.js";
import type { Address } from "../protocol/index.js";
import { TRANSACTION_GAS_CAP } from "../rpc/blocks.js";
import { decodeRevertReason, invalidOpcode } from "../rpc/revert-reason.js";
import { NATIVE, gainOf } from "./tokens.js";
import type {
  Attempt,
  BalanceChange,
  ChainState,
  Execution,
  Simulation,
} from "./types.js";
import { accountIn, changesBetween, roundOf } from "./watch-list.js";

/** The code that an EIP-7702 authorization gives to an account with a key. */
const DELEGATION_SIZE = 23n;

/**
 * Makes the simulation of a settlement that an engine executed: its status, by the state without
 * and with it, and its effects.
 *
 * @param kept Tokens that stay in the guard.
 */
export async function toSimulation(
  vault: VaultHost,
  attempt: Attempt,
  execution: Execution,
  kept: readonly Address[],
): Promise<Simulation> {
  const { guard, from } = attempt.route;
  const { engine, before, after, failed, gasUsed, gasPrice } = execution;
  const { block, transfers } = execution;
  const by = { engine, guard: guard?.address ?? null };
  // The round before is read with the settlement in one request, so a settled round is
  // noticed only after it.
  if (roundOf(before)?.settled === true) {
    return {
      ...by,
      status: "nothing-to-do",
      code: null,
      reason: "the round is settled already",
      gasUsed: null,
      block: null,
      changes: [],
      balances: [],
      transfers: [],
      notes: [],
    };
  }
  const outcome =
    failed === undefined
      ? outcomeOf(vault.networkName, before, after)
      : {
          status: "reverted" as const,
          ...(await explainFailure(vault, attempt, failed)),
        };
  // The contracts would settle, but a settlement is refused then.
  const stays =
    guard !== undefined && kept.length > 0
      ? keepsTokens(vault, guard, kept)
      : undefined;
  const reasons = [outcome.reason, stays?.message].filter(
    (reason) => typeof reason === "string",
  );
  const balances = balancesWithoutFee(execution);
  const { codeSize } = accountIn(before, from);
  // Then another account sends the transaction, and pays for the gas.
  const isContract = codeSize > 0n && codeSize !== DELEGATION_SIZE;
  const fee = isContract ? 0n : gasUsed * gasPrice;
  // A contract that settles may spend what it has.
  const funds = min(balances[0]?.before ?? 0n, balances[0]?.after ?? 0n);
  const isTooPoor = funds < fee;
  const needed = failed === undefined ? execution.gasNeeded : gasUsed;
  const notes = [
    noteUnreadOrders(before),
    ...noteUnlistedTransfers(execution, balances),
    needed > TRANSACTION_GAS_CAP &&
      `It uses ${gasUsed} gas, and a limit of ${needed} may be needed: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
    isContract && OTHER_ORIGIN,
    isTooPoor &&
      `The sender cannot pay for gas: it has ${funds} wei, and the fee is ${fee} wei. The fee was lent to it, and is not subtracted.`,
  ];
  return {
    status: outcome.status,
    code: outcome.code ?? stays?.code ?? null,
    reason: reasons.length === 0 ? null : reasons.join(" "),
    ...by,
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

/** As if gas were free. The first is the sender's native currency. */
function balancesWithoutFee({
  before,
  after,
  balanceWithoutFee,
}: Execution): readonly BalanceChange[] {
  return before.balances.map(({ amount, ...one }, index) => ({
    ...one,
    before: amount ?? 0n,
    after:
      index === 0 ? balanceWithoutFee : (after.balances[index]?.amount ?? 0n),
  }));
}

function noteUnreadOrders({ readings }: ChainState): string | undefined {
  const orders = [...readings].filter(([name]) => name.startsWith("orders."));
  const unread = orders.filter(([, order]) => isFailedReading(order)).length;
  return unread === 0
    ? undefined
    : `Orders that could not be read: ${unread} of ${orders.length}.`;
}

/** Compares balances in the native currency with the listed transfers of it. */
function noteUnlistedTransfers(
  { failed, transfers }: Execution,
  balances: readonly BalanceChange[],
): readonly string[] {
  const listed = failed === undefined ? transfers : [];
  return balances
    .filter(({ token }) => token === NATIVE)
    .flatMap(({ account, before, after }) => {
      const surplus = after - before - gainOf(account, listed);
      return surplus === 0n
        ? []
        : `The list of transfers is not right: ${account} ends with ${surplus < 0n ? `${-surplus} wei less` : `${surplus} wei more`} than the listed transfers give it, as when a payment inside fails or a contract destroys itself.`;
    });
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

/** Explains why a settlement failed that was executed. */
async function explainFailure(
  vault: VaultHost,
  { route, isGasGiven }: Attempt,
  failed: FailedCall,
): Promise<Refusal> {
  const { networkName: network, rpc } = vault;
  const reverted = decodeRevertReason(failed.data);
  const inner = innerReason(reverted, route);
  // The node's text is about the guard, not about what the guard wraps.
  const message = inner === reverted ? failed.message : undefined;
  const invalid = invalidOpcode(message ?? "");
  if (inner.data !== "0x" || invalid !== undefined) {
    return await explainRefusal(vault, invalid ?? reverted, route);
  }
  if (isOutOfGas(failed)) {
    const [limit, remedy] = isGasGiven
      ? [
          "it is given",
          `Raise networks.${network}.gas, or \`gas\` of simulateSettleAll().`,
        ]
      : [
          "a block of this chain, or a transaction of this network (EIP-7825, or `transactionGasCap`), has room for",
          `The contract has to settle in parts. If the chain has no such limit of a transaction, raise networks.${network}.transactionGasCap, or simulate with an older hardfork, for example prague.`,
        ];
    const given = { gas: failed.gasGiven, limit, remedy };
    return outOfGas(network, message !== undefined, given);
  }
  return message === undefined
    ? await explainRefusal(vault, reverted, route)
    : { code: "VAULT_CALL_REVERTED", reason: rpc.redactor.quote(message) };
}
