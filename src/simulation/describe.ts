import { min } from "@nomicfoundation/hardhat-utils/bigint";

import { mockHint } from "../client/addresses.js";
import { isFailedReading } from "../client/failed-reading.js";
import { checksumAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import type { GuardedSettlement } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Address } from "../protocol/index.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import { keepsTokens, OTHER_ORIGIN } from "../guard/call.js";
import { fateOf } from "../guard/outcome.js";
import type { Refusal } from "../guard/outcome.js";
import {
  changedBalances,
  changesBetween,
  pairBalances,
  roundOf,
  unexplainedBalances,
} from "./compare-readings.js";
import type { Readings } from "./compare-readings.js";
import { isContract } from "./engines/engine.js";
import type { Attempt, Run } from "./engines/engine.js";
import { explainFailure } from "./explain-failure.js";
import type {
  BalanceChange,
  Simulation,
  SimulationEngine,
  SimulationStatus,
} from "./types.js";
import { accountIn } from "./watch-list.js";
import type { ChainState } from "./watch-list.js";

/** A settlement that was executed, and the state without and with it. */
export interface Effects {
  readonly attempt: Attempt;
  readonly run: Run;
  readonly before: ChainState;
  readonly after: ChainState;
  /** Tokens that stay in the guard. */
  readonly kept: readonly Address[];
  /** Number of orders that could not be read. */
  readonly unread: number;
}

export async function describe(
  vault: VaultHost,
  effects: Effects,
): Promise<Simulation> {
  const { attempt, run, before, after } = effects;
  const { route, gasPrice = 0n } = attempt;
  const { engine, failed, gasUsed, block, transfers } = run;
  const sender = checksumAddress(route.from);
  const held = pairBalances(before.balances, after.balances);
  const status = statusOf(effects);
  const refusal =
    failed !== undefined
      ? await explainFailure(vault, attempt, failed)
      : status === "settled"
        ? null
        : explainUnsettled(vault, effects);
  // A contract that settles may spend what it has.
  const [had, has] = [before, after].map(
    (state) => accountIn(state, sender).balance,
  );
  const funds = min(had ?? 0n, has ?? 0n);
  const fee = isContract(accountIn(before, sender)) ? 0n : gasUsed * gasPrice;
  const isTooPoor = funds < fee;
  const { source } = await vault.addressOf("vault");
  const ofMock = mockHint({ source });
  const notes = [
    failed !== undefined &&
      ofMock !== undefined &&
      refusal?.reason.endsWith(ofMock) !== true &&
      ofMock,
    ...notesOnEffects(vault, effects, held),
    ...notesOnGas(effects),
    isTooPoor
      ? `The sender cannot pay for gas: it has ${funds} wei, and the fee is ${fee} wei. The fee was lent to it, and is not subtracted.`
      : fee > 0n && (run.lent > 0n || run.feePaid === 0n) && SAW_ALL,
    ...run.notes,
  ];
  return {
    status,
    code: refusal?.code ?? null,
    reason: refusal?.reason ?? null,
    engine,
    guard: route.guard?.address ?? null,
    gasUsed,
    block,
    changes: changesBetween(before.readings, after.readings),
    balances: changedBalances(held, sender, isTooPoor ? 0n : fee),
    transfers,
    notes: notes.filter((note) => note !== false),
  };
}

const SAW_ALL =
  "The contract saw the sender's balance before it pays for gas: one that reads the balance can do something else when it is mined.";

/** The first rule that applies counts. */
function statusOf({ run, before, after }: Effects): SimulationStatus {
  const [earlier, round] = [roundOf(before), roundOf(after)];
  if (run.failed !== undefined) {
    return "reverted";
  }
  if (round === undefined) {
    return "not-settled";
  }
  const fate = earlier === undefined ? undefined : fateOf(earlier, round);
  const isSettled =
    fate === undefined
      ? round.settled
      : fate === "settled" || fate === "followed";
  return isSettled ? "settled" : "not-settled";
}

function explainUnsettled(
  { networkName: network }: VaultHost,
  { before, after }: Effects,
): Refusal {
  const { code, shortMessage } = vaultError("VAULT_NOT_SETTLED", { network });
  const isRead = [before, after].every((state) => roundOf(state) !== undefined);
  const reason = isRead
    ? shortMessage
    : "The round cannot be read before or after the call.";
  return { code, reason };
}

type Note = string | false;

function notesOnGas({ attempt, run, before }: Effects): readonly Note[] {
  const { failed, gasUsed, gasNeeded } = run;
  const needed = failed === undefined ? gasNeeded : gasUsed;
  const limit =
    failed === undefined
      ? `, for which a limit of ${gasNeeded} may be needed`
      : ", and fails";
  return [
    attempt.gasPrice === undefined &&
      "The price of gas is not known: no fee is subtracted, and the contract saw a price of 0.",
    needed > TRANSACTION_GAS_CAP &&
      `It uses ${gasUsed} gas${limit}: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
    isContract(accountIn(before, attempt.route.from)) && OTHER_ORIGIN,
  ];
}

function notesOnEffects(
  vault: VaultHost,
  { attempt, run, before, after, kept, unread }: Effects,
  held: readonly BalanceChange[],
): readonly Note[] {
  const { guard } = attempt.route;
  const [earlier, round] = [roundOf(before), roundOf(after)];
  const all = unread + countOrders(before.readings);
  return [
    guard !== undefined &&
      kept.length > 0 &&
      keepsTokens(vault, guard, kept).message,
    unread > 0 && `Orders that could not be read: ${unread} of ${all}.`,
    run.failed === undefined &&
      (round === undefined || (earlier === undefined && !round.settled)) &&
      "The round cannot be read before or after the call, so it may be settled or not.",
    ...unexplainedBalances(
      run.failed === undefined ? run.transfers : [],
      held,
    ).map(
      ({ account, surplus }) =>
        `The list of transfers is not right: ${account} ends with ${surplus < 0n ? `${-surplus} wei less` : `${surplus} wei more`} than the listed transfers give it, as when a payment inside fails or a contract destroys itself.`,
    ),
  ];
}

/** Number of orders that could be read. */
export function countOrders(readings: Readings): number {
  return [...readings].filter(
    ([name, value]) => name.startsWith("orders.") && !isFailedReading(value),
  ).length;
}

export function alreadySettled(
  engine: SimulationEngine,
  guard: GuardedSettlement | undefined,
): Simulation {
  return {
    status: "nothing-to-do",
    code: null,
    reason: "the round is settled already",
    engine,
    guard: guard?.address ?? null,
    gasUsed: null,
    block: null,
    changes: [],
    balances: [],
    transfers: [],
    notes: [],
  };
}
