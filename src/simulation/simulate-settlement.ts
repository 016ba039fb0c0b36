import { min } from "@nomicfoundation/hardhat-utils/bigint";
import type { NetworkConfig } from "hardhat/types/config";

import { mockHint } from "../client/addresses.js";
import { noCode } from "../client/codec.js";
import { isFailedReading } from "../client/failed-reading.js";
import { checksumAddress } from "../client/inputs.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import type { CallResult } from "../rpc/calls.js";
import { resolveFees } from "../settlement-call/fees.js";
import { findRoute } from "../settlement-call/guarded.js";
import type { ChosenNextBlock } from "../settlement-call/next-block.js";
import { fateOf } from "../settlement-call/outcome.js";
import { OTHER_ORIGIN, isCalledOnly } from "../settlement-call/route.js";
import type { SettlementRoute } from "../settlement-call/route.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import type { Readings } from "./compare-readings.js";
import {
  changedBalances,
  changesBetween,
  pairBalances,
  roundOf,
  unexplainedBalances,
} from "./compare-readings.js";
import { EngineUnsupportedError, offerFor } from "./engines/engine.js";
import type {
  EngineResult,
  FailedCall,
  Offer,
  SimulationParameters,
} from "./engines/engine.js";
import { runFork } from "./engines/fork.js";
import { runInProcess } from "./engines/in-process.js";
import {
  callAsSent,
  runSimulateV1,
  traceNativeTransfers,
} from "./engines/simulate-v1.js";
import { explainStatus } from "./explain-status.js";
import type { Outcome } from "./explain-status.js";
import { confirm } from "./confirm.js";
import type { SimulationRequest } from "./options.js";
import { NATIVE, keptBy } from "./tokens.js";
import type { Kept } from "./tokens.js";
import type {
  BalanceChange,
  Simulation,
  SimulationEngine,
  SimulationStatus,
  Transfer,
} from "./types.js";
import {
  accountIn,
  decodeState,
  findContracts,
  makeWatchList,
} from "./watch-list.js";
import type { ChainState, KnownContract } from "./watch-list.js";

export interface Simulated {
  readonly simulation: Simulation;
  readonly chainId: number;
  /** Number of the block that the simulation started from. */
  readonly base: number;
  readonly sender: string;
  /** Contracts whose balances were read. */
  readonly contracts: readonly KnownContract[];
  readonly ordersRead: number;
  /** Sender's balance before, in wei. */
  readonly balance: bigint;
  /** Gas used before refunds, or an upper bound of it; null if nothing was executed. */
  readonly gasNeeded: bigint | null;
  /** The transfers that are known, if not all are. */
  readonly moved: readonly Transfer[];
  readonly route: SettlementRoute;
  /** What the settlement leaves in the guard, if there is one on the route. */
  readonly kept: Kept;
}

/** @param next The block that the settlement would be in. */
export async function simulateSettlement(
  vault: VaultHost,
  request: SimulationRequest,
  next: ChosenNextBlock,
): Promise<Simulated> {
  const { simulated, route, offer, called } = await simulateOnce(
    vault,
    request,
    next,
  );
  const { engine, status } = simulated.simulation;
  // The other engines execute it with gas and price of the transaction.
  return engine !== "simulateV1" || status === "nothing-to-do"
    ? simulated
    : await confirm(
        vault,
        route,
        simulated,
        called,
        async () =>
          (
            await simulateOnce(
              vault,
              { ...request, route, engine },
              next,
              offer,
            )
          ).simulated,
      );
}

/** @param paid Gas and price to simulate with. Default: nobody pays. */
async function simulateOnce(
  vault: VaultHost,
  request: SimulationRequest,
  next: ChosenNextBlock,
  paid?: Offer,
): Promise<{
  readonly simulated: Simulated;
  readonly route: SettlementRoute;
  /** Gas and price of the transaction, if the sender can pay for it. */
  readonly offer: Offer | undefined;
  /** A call with them, if there was one. */
  readonly called: CallResult | undefined;
}> {
  const { networkName: network } = vault;
  const { networkConfig } = vault.connection;
  const base = next.number - 1;
  const [contracts, vaultContract, route] = await Promise.all([
    findContracts(vault),
    vault.addressOf("vault", "settleAll"),
    request.route ?? findRoute(vault, request.sender, base),
  ]);
  const sender = checksumAddress(route.from);
  const guard = guardIn(route);
  // Tokens that stay in the guard are reported.
  const holders = guard === null ? [] : [guard];
  const watched = makeWatchList(network, contracts, sender, {
    ...request,
    holders,
  });
  const configured =
    networkConfig.gas === "auto" ? undefined : networkConfig.gas;
  const gas = request.gas ?? configured;
  const parameters: SimulationParameters = {
    vault,
    route,
    watched,
    gas,
    base,
    next,
    hardfork: request.hardfork,
    price: (request.price ?? resolveFees(vault.rpc, networkConfig, next)).catch(
      fallbackTo(undefined, ({ kind }) => kind === "rpc"),
    ),
    offer: paid,
  };
  // Its failure comes after the end of the engine, which may have to undo something.
  parameters.price.catch(() => undefined);
  const run = await runFirstEngine(
    parameters,
    enginesFor(networkConfig, request),
  );
  const price = await parameters.price;
  // A reading that fails is an error in its place; a token without a balance throws.
  const before = decodeState(vault, watched, run.answersBefore);
  const after = decodeState(vault, watched, run.answersAfter, run.feePaid);
  if (!accountIn(before, vaultContract.address).hasCode) {
    // Its code is known from the readings, without a request of its own. A call to an
    // address without code succeeds, and would pass for a settlement.
    throw noCode("vault", vaultContract, network, base);
  }
  const status = statusOf(before, after, run.failed);
  const isExecuted = status !== "nothing-to-do";
  const { balance, hasCode } = accountIn(before, sender);
  const isCalled = hasCode && (await isCalledOnly(vault.rpc, sender, base));
  const offer = isCalled
    ? undefined
    : offerFor(parameters, run, price, balance);
  const isConfirmed =
    isExecuted && run.engine === "simulateV1" && paid === undefined;
  const outcome = { status, before, after };
  const [simulation, called] = await Promise.all([
    isExecuted
      ? describeEffects(parameters, run, outcome, price?.current, isCalled)
      : alreadySettled(run.engine, guard),
    isConfirmed && offer !== undefined
      ? callAsSent(parameters, offer)
      : undefined,
  ]);
  return {
    ...{ route, offer, called },
    simulated: {
      moved: run.transfers,
      route,
      kept:
        guard === null || !isExecuted
          ? { tokens: [], others: [] }
          : keptBy(guard, run, pairBalances(before.balances, after.balances)),
      chainId: before.block.chainId,
      base,
      sender,
      contracts,
      ordersRead: countOrders(before.readings),
      balance,
      gasNeeded: isExecuted ? run.gasNeeded : null,
      simulation,
    },
  };
}

function guardIn({ guard }: SettlementRoute): Address | null {
  return guard === undefined ? null : checksumAddress(guard.address);
}

/** Engines to try, in this order: the chain's own EVM before that of a fork. */
function enginesFor(
  { type }: Pick<NetworkConfig, "type">,
  { engine, hardfork }: SimulationRequest,
): readonly SimulationEngine[] {
  if (type !== "http") {
    return ["in-process"];
  }
  if (engine !== undefined) {
    return [engine];
  }
  return hardfork === undefined ? ["simulateV1", "fork"] : ["fork"];
}

const runners = {
  simulateV1: runSimulateV1,
  fork: runFork,
  "in-process": runInProcess,
};

type EngineRun = EngineResult & { readonly engine: SimulationEngine };

/**
 * Executes the settlement with the first engine that can. An engine that cannot throws an
 * EngineUnsupportedError; any other error is final.
 *
 * @throws VaultError VAULT_ENGINE_UNAVAILABLE if none of the engines can
 */
async function runFirstEngine(
  parameters: SimulationParameters,
  engines: readonly SimulationEngine[],
): Promise<EngineRun> {
  const failures: Array<readonly [SimulationEngine, EngineUnsupportedError]> =
    [];
  for (const engine of engines) {
    try {
      return { engine, ...(await runners[engine](parameters)) };
    } catch (error) {
      if (!(error instanceof EngineUnsupportedError)) {
        throw error;
      }
      failures.push([engine, error]);
    }
  }
  const problems = failures.map(([engine, { message }]) =>
    engines.length === 1 ? message : `${engine}: ${message}`,
  );
  const details = {
    engine: engines.join(" or "),
    network: parameters.vault.networkName,
    problem: problems.join("; "),
  };
  throw vaultError("VAULT_ENGINE_UNAVAILABLE", details, failures.at(-1)?.[1]);
}

/**
 * The first rule that applies counts. The round before is read with the settlement in one
 * request, so a settled round is noticed only after it.
 */
function statusOf(
  before: ChainState,
  after: ChainState,
  failed: FailedCall | undefined,
): SimulationStatus {
  const [earlier, round] = [roundOf(before), roundOf(after)];
  if (earlier?.settled === true) {
    return "nothing-to-do";
  }
  if (failed !== undefined) {
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

/** @param gasPrice In wei; undefined if it is not known. */
async function describeEffects(
  parameters: SimulationParameters,
  run: EngineRun,
  outcome: Outcome,
  gasPrice: bigint | undefined,
  isCalled: boolean,
): Promise<Simulation> {
  const { route, watched } = parameters;
  const sender = checksumAddress(route.from);
  const { status, before, after } = outcome;
  const { engine, failed, gasUsed, block } = run;
  const held = pairBalances(before.balances, after.balances);
  const transfers = await findTransfers(parameters, run, held);
  const refusal = await explainStatus(parameters, outcome, failed);
  const { balance } = accountIn(before, sender);
  // A contract that settles may spend what it has.
  const funds = min(balance, accountIn(after, sender).balance);
  const fee = gasUsed * (gasPrice ?? 0n);
  const isTooPoor = funds < fee;
  const balances = changedBalances(held, sender, isTooPoor ? 0n : fee);
  const guard = guardIn(route);
  const moved = transfers ?? run.transfers;
  const leaves =
    guard === null
      ? { tokens: [], others: [] }
      : keptBy(guard, { transfers: moved, logs: run.logs }, balances);
  const kept = [...leaves.tokens, ...leaves.others];
  const { orderIDs } = watched;
  const unread = orderIDs.length - countOrders(before.readings);
  const { source } = await parameters.vault.addressOf("vault");
  const ofMock = mockHint({ source }, "settleAll");
  const notes = [
    failed !== undefined &&
      ofMock !== undefined &&
      refusal?.reason.endsWith(ofMock) !== true &&
      ofMock,
    kept.length > 0 &&
      `What the vault pays stays in the guard: ${kept.join(", ")}.`,
    unread > 0 &&
      `Orders that could not be read: ${unread} of ${orderIDs.length}.`,
    gasPrice === undefined &&
      "The price of gas is not known: no fee is subtracted.",
    isTooPoor &&
      `The sender cannot pay for gas: it has ${funds} wei, and the fee is ${fee} wei. The fee is not subtracted.`,
    isCalled && OTHER_ORIGIN,
    transfers === null &&
      "Transfers are not listed: eth_simulateV1 of this node omits what a contract gives away when it destroys itself, and the node returns no trace.",
    ...(failed === undefined
      ? notesOnSuccess(run, roundOf(before), roundOf(after))
      : []),
    ...unexplainedBalances(transfers ?? [], transfers === null ? [] : held).map(
      ({ account, surplus }) =>
        `The list of transfers is not right: ${account} ends with ${surplus < 0n ? `${-surplus} wei less` : `${surplus} wei more`} than the listed transfers give it, as when a payment inside fails or a contract destroys itself.`,
    ),
    ...run.notes,
  ];
  return {
    status,
    code: refusal?.code ?? null,
    reason: refusal?.reason ?? null,
    engine,
    gasUsed,
    block,
    changes: changesBetween(before.readings, after.readings),
    balances,
    transfers,
    guard,
    notes: notes.filter((note) => note !== false),
  };
}

/** Orders that could be read. */
function countOrders(readings: Readings): number {
  return [...readings].filter(
    ([name, value]) => name.startsWith("orders.") && !isFailedReading(value),
  ).length;
}

/**
 * Lists the transfers. The node is asked for a trace if its `eth_simulateV1` omits some, or
 * balances show that they are not right.
 *
 * @returns Null if some may be missing.
 */
async function findTransfers(
  parameters: SimulationParameters,
  { transfers, failed, hasAllTransfers }: EngineRun,
  balances: readonly BalanceChange[],
): Promise<readonly Transfer[] | null> {
  const isRight = (list: readonly Transfer[]): boolean =>
    unexplainedBalances(list, balances).length === 0;
  if (failed !== undefined || (hasAllTransfers && isRight(transfers))) {
    return transfers;
  }
  const native = await traceNativeTransfers(parameters);
  const traced = [
    ...(native ?? []),
    ...transfers.filter(({ token }) => token !== NATIVE),
  ];
  if (native !== undefined && isRight(traced)) {
    return traced;
  }
  // Transfers that are not right get a note.
  return hasAllTransfers ? transfers : null;
}

function alreadySettled(
  engine: SimulationEngine,
  guard: Address | null,
): Simulation {
  return {
    status: "nothing-to-do",
    code: null,
    reason: "the round is settled already",
    engine,
    guard,
    gasUsed: null,
    block: null,
    changes: [],
    balances: [],
    transfers: [],
    notes: [],
  };
}

function notesOnSuccess(
  { gasUsed, gasNeeded }: EngineResult,
  before: VaultRound | undefined,
  after: VaultRound | undefined,
): ReadonlyArray<string | false> {
  return [
    (after === undefined || (before === undefined && !after.settled)) &&
      "The round cannot be read before or after the call, so it may be settled or not.",
    gasNeeded > TRANSACTION_GAS_CAP &&
      `It uses ${gasUsed} gas, for which a limit of ${gasNeeded} may be needed: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
  ];
}
