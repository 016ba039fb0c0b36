import { noCode } from "../client/codec.js";
import { isFailedReading } from "../client/failed-reading.js";
import { assertInvariant, fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { toBlockId } from "../rpc/block-id.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import { fewRetries } from "../rpc/retry.js";
import {
  changesBetween,
  compareBalances,
  nativeBalanceOf,
  roundOf,
  unexplainedBalances,
} from "./compare-readings.js";
import type { ChainState } from "./compare-readings.js";
import { settlementCall } from "../settlement-call/route.js";
import { EngineUnsupportedError, UNKNOWABLE } from "./engine.js";
import type { EngineResult, SimulationParameters } from "./engine.js";
import { runFork } from "./engines/fork.js";
import { runInProcess } from "./engines/in-process.js";
import { blockOverrides } from "./engines/on-node.js";
import { runSimulateV1 } from "./engines/simulate-v1.js";
import { resolveFees } from "../settlement-call/fees.js";
import { findRoute } from "../settlement-call/guarded.js";
import { tokensKept } from "./tokens.js";
import { findBlock } from "../settlement-call/next-block.js";
import type { TargetBlock } from "../settlement-call/next-block.js";
import { OTHER_ORIGIN, isCalledOnly } from "../settlement-call/route.js";
import { checkOptions, httpEngines } from "./options.js";
import type {
  HttpEngine,
  SimulateSettleAllOptions,
  SimulationRequest,
} from "./options.js";
import { findRefusal } from "./find-refusal.js";
import type { Refusal } from "../settlement-call/refusal.js";
import { NATIVE, nativeTransfersOf } from "./tokens.js";
import type { Simulation, SimulationEngine, Transfer } from "./types.js";
import { decodeState, findContracts, makeWatchList } from "./watch-list.js";
import type { KnownContract } from "./watch-list.js";

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
  /** Lowest sufficient gas limit; null if nothing was executed. */
  readonly gasNeeded: bigint | null;
}

/**
 * @see HardhatVault.simulateSettleAll
 *
 * @param findSender Finds the account that settles if the options name none.
 */
export async function simulateSettleAll(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findSender?: () => Promise<string>,
): Promise<Simulated> {
  const request = checkOptions(vault, options);
  const client = vault.withOptions(options);
  const [sender, next] = await Promise.all([
    request.sender ?? findSender?.() ?? client.defaultSender(),
    findBlock(client, options.blockNumber, options.atTime),
  ]);
  return await simulateSettlement(client, { ...request, sender }, next);
}

/**
 * Simulates over HTTP with the first engine that can, in process on the network itself.
 */
export async function simulateSettlement(
  client: VaultHost,
  request: SimulationRequest,
  next: TargetBlock,
): Promise<Simulated> {
  const { sender, hardfork } = request;
  const base = next.number - 1;
  const { networkConfig } = client.connection;
  const configured = networkConfig.gas;
  const gas = request.gas ?? (configured === "auto" ? undefined : configured);
  const [contracts, contract, route] = await Promise.all([
    findContracts(client),
    client.addressOf("vault", "settleAll"),
    request.route ?? findRoute(client, sender, base),
  ]);
  const guard = route.guard?.address ?? null;
  const holders = guard === null ? [] : [guard];
  const watched = makeWatchList(contracts, sender, { ...request, holders });
  const parameters: SimulationParameters = {
    ...{ vault: client, sender, route, watched, next },
    ...{ gas, hardfork },
  };
  const [result, price] = await Promise.all([
    runEngines(parameters, request.engines),
    resolveFees(client.rpc, networkConfig, next).catch(
      fallbackTo(undefined, ({ kind }) => kind === "rpc"),
    ),
  ]).catch((error: unknown) => {
    if (next.isPast !== true || !isNodeRefusal(error)) {
      throw error;
    }
    // A node that has the block but refuses its state is no archive node.
    const problem = String(error.details["problem"]);
    const details = {
      ...{ network: client.networkName, block: base, problem },
      ...{ hint: "", cliHint: "" },
    };
    throw vaultError("VAULT_ARCHIVE_NODE_NEEDED", details, error);
  });
  const before = decodeState(client, watched, result.before);
  const { accounts, block } = before.facts;
  if (accounts.get(contract.address)?.hasCode === false) {
    // A call to an address without code succeeds and would pass for a settlement.
    throw noCode("vault", contract, client.networkName, base);
  }
  const ordersRead = [...before.readings].filter(
    ([name, value]) => name.startsWith("orders.") && !isFailedReading(value),
  ).length;
  const known = {
    ...{ chainId: block.chainId, base, sender, contracts, ordersRead },
    balance: accounts.get(sender)?.balance ?? 0n,
  };
  if (roundOf(before)?.settled === true) {
    const simulation = alreadySettled(result.engine, guard);
    return { ...known, gasNeeded: null, simulation };
  }
  const { feePaid, gasNeeded } = result;
  const after = decodeState(client, watched, result.after, feePaid);
  const transfers = await findTransfers(parameters, result, before, after);
  const executed = { ...result, transfers, before, after };
  const refusal = await findRefusal(parameters, executed);
  const fee = result.gasUsed * (price?.current ?? 0n);
  const funds = [before, after].map((state) => nativeBalanceOf(state, sender));
  const isTooPoor = funds.some((amount) => amount < fee);
  const hasCode =
    accounts.get(sender)?.hasCode === true &&
    (await isCalledOnly(client.rpc, sender, base));
  const asked = request.orderIDs?.length ?? 0;
  const notes = [
    ordersRead < asked &&
      `Orders that could not be read: ${asked - ordersRead} of ${asked}.`,
    price === undefined &&
      "The price of gas is not known: no fee is subtracted.",
    isTooPoor &&
      `The sender cannot pay for gas: it has ${funds[0] ?? 0n} wei, and the fee is ${fee} wei. The fee is not subtracted.`,
    hasCode && OTHER_ORIGIN,
    ...notesOn(executed),
  ].filter((note) => note !== false);
  const described = describeResult(
    executed,
    refusal,
    sender,
    isTooPoor ? 0n : fee,
  );
  const kept = guard === null ? [] : tokensKept(described, guard);
  const ofGuard =
    kept.length === 0
      ? []
      : [`Tokens that the vault pays stay in the guard: ${kept.join(", ")}.`];
  return {
    ...known,
    gasNeeded,
    simulation: { ...described, guard, notes: [...ofGuard, ...notes] },
  };
}

const engines = {
  simulateV1: runSimulateV1,
  fork: runFork,
  "in-process": runInProcess,
};

/** @throws VaultError VAULT_ENGINE_UNAVAILABLE if none of the engines can */
async function runEngines(
  parameters: SimulationParameters,
  chosen: readonly HttpEngine[] = httpEngines,
): Promise<EngineResult & { readonly engine: SimulationEngine }> {
  const { connection, networkName: network } = parameters.vault;
  const { type } = connection.networkConfig;
  let last: VaultError | undefined;
  for (const engine of type === "http" ? chosen : (["in-process"] as const)) {
    try {
      return { engine, ...(await engines[engine](parameters)) };
    } catch (error) {
      if (!(error instanceof EngineUnsupportedError)) {
        throw error;
      }
      const details = { engine, network, problem: error.message };
      last = vaultError("VAULT_ENGINE_UNAVAILABLE", details, error);
    }
  }
  assertInvariant(last !== undefined, "no engine to simulate with");
  throw last;
}

/**
 * Lists the transfers. Some nodes list payments that fail inside, and none of a contract
 * that destroys itself: where balances show that, the node is asked for a trace.
 */
async function findTransfers(
  { vault, route, next }: SimulationParameters,
  { engine, transfers, failed }: Awaited<ReturnType<typeof runEngines>>,
  before: ChainState,
  after: ChainState,
): Promise<EngineResult["transfers"]> {
  const isRight = (list: readonly Transfer[]): boolean =>
    unexplainedBalances(list, before.balances, after.balances).length === 0;
  if (
    engine !== "simulateV1" ||
    transfers === null ||
    failed !== undefined ||
    isRight(transfers)
  ) {
    return transfers;
  }
  const trace = await vault.rpc
    .withRetries(fewRetries)
    .request("debug_traceCall", [
      settlementCall(route),
      toBlockId(next.number - 1),
      { tracer: "callTracer", blockOverrides: blockOverrides({ next }) },
    ])
    // The transfers are then listed as they are, with a note.
    .catch(fallbackTo(undefined, ({ kind }) => kind === "rpc"));
  const traced = [
    ...nativeTransfersOf(trace),
    ...transfers.filter(({ token }) => token !== NATIVE),
  ];
  return isRight(traced) ? traced : transfers;
}

function alreadySettled(
  engine: SimulationEngine,
  guard: string | null,
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

type ExecutedSettlement = EngineResult<ChainState> & {
  readonly engine: SimulationEngine;
};

function describeResult(
  {
    engine,
    failed,
    gasUsed,
    block,
    transfers,
    before,
    after,
  }: ExecutedSettlement,
  refusal: Refusal | null,
  sender: string,
  fee: bigint,
): Omit<Simulation, "guard" | "notes"> {
  return {
    status:
      failed !== undefined
        ? "reverted"
        : refusal === null
          ? "settled"
          : "not-settled",
    code: refusal?.code ?? null,
    reason: refusal?.reason ?? null,
    engine,
    gasUsed,
    block,
    changes: changesBetween(before.readings, after.readings),
    balances: compareBalances(before.balances, after.balances, sender, fee),
    transfers,
  };
}

function notesOn({
  failed,
  gasUsed,
  gasNeeded,
  transfers,
  before,
  after,
  notes,
}: ExecutedSettlement): ReadonlyArray<string | false> {
  const [earlier, round] = [roundOf(before), roundOf(after)];
  return [
    failed === undefined &&
      (round === undefined || (earlier === undefined && !round.settled)) &&
      "The round cannot be read before or after the call, so it may be settled or not.",
    failed === undefined &&
      gasNeeded > TRANSACTION_GAS_CAP &&
      `It uses ${gasUsed} gas, for which a limit of ${gasNeeded} may be needed: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
    ...(transfers === null
      ? []
      : unexplainedBalances(transfers, before.balances, after.balances)
    ).map(
      ({ account, surplus }) =>
        `The list of transfers is not right: ${account} ends with ${surplus < 0n ? `${-surplus} wei less` : `${surplus} wei more`} than the listed transfers give it, as when a payment inside fails or a contract destroys itself.`,
    ),
    ...notes,
    UNKNOWABLE,
  ];
}
