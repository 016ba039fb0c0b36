import { noCode } from "../client/answer.js";
import { isFailedReading } from "../client/failed-reading.js";
import { describeInput, parseAddress, parseUint256 } from "../client/inputs.js";
import type { ReadOptions } from "../client/reader.js";
import {
  assertInvariant,
  invalidArgument,
  fallbackTo,
  vaultError,
} from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { NextBlock } from "../rpc/rpc-client.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import {
  changesBetween,
  compareBalances,
  nativeBalanceOf,
  roundOf,
} from "./compare-readings.js";
import { EngineUnsupportedError, UNKNOWABLE } from "./engine.js";
import type { EngineResult, SimulationParameters } from "./engine.js";
import { runCall } from "./engines/call.js";
import { readUpstreamBlock, runFork } from "./engines/fork.js";
import type { ForkOptions } from "./engines/fork.js";
import { runInProcess } from "./engines/in-process.js";
import { runSimulateV1 } from "./engines/simulate-v1.js";
import { currentPricePerGas, resolveFees } from "./fees.js";
import { describeRefusal } from "./refusal.js";
import type { Refusal } from "./refusal.js";
import { resolveAddresses } from "./resolved-addresses.js";
import type { KnownContract } from "./resolved-addresses.js";
import { checkTime, targetTime } from "./target-time.js";
import type { SimulationTime } from "./target-time.js";
import { NATIVE } from "./transfers.js";
import type { SimulationEngine, Simulation } from "./types.js";
import { decodeState, factsOf, makeWatchList } from "./watch-list.js";

/** Options of `simulateSettleAll`. */
export interface SimulateSettleAllOptions
  extends ForkOptions, Pick<ReadOptions, "onRetry"> {
  /**
   * Milliseconds until all of it has to be answered, with whatever is asked again
   * and what a fork fetches; no limit unless given, and 300,000 for each request.
   * What the fork has asked by then cannot be called back: a process ends only
   * once that is answered, or Hardhat's simulator has given it up.
   */
  readonly timeout?: number | undefined;
  /**
   * Account that settles; any one, no key is needed. Else the network's `from`,
   * else its first account.
   */
  readonly as?: string | undefined;
  /**
   * When to settle: `end` for the round's `endTime`, a span from the chain's
   * clock (`+1h`), an ISO date, or Unix seconds; the chain's own time unless
   * given.
   */
  readonly atTime?: SimulationTime | undefined;
  /** Orders to read before and after, at most 400. */
  readonly orders?: ReadonlyArray<bigint | number> | undefined;
  /** ERC-20 tokens whose balances are read before and after. */
  readonly tokens?: readonly string[] | undefined;
  /**
   * Gas limit of the transaction. Else the network's `gas`, else as much as a
   * block has room for.
   */
  readonly gas?: bigint | number | undefined;
  /**
   * What executes it, and nothing else. Unless given, the first that can:
   * `simulateV1` (one `eth_simulateV1`), `call` (one `eth_call` with code at the
   * sender's address), `fork` (in this process). With `hardfork` it is the fork;
   * in process it is the network itself, which needs no engine.
   */
  readonly engine?: HttpEngine | undefined;
}

export type HttpEngine = Exclude<SimulationEngine, "in-process">;

/** A settlement that was simulated, and what else is known of it. */
export interface Simulated {
  readonly simulation: Simulation;
  readonly chainId: number;
  /** Number of the block that it started from. */
  readonly base: number;
  readonly sender: string;
  /** The contracts whose balances were read. */
  readonly contracts: readonly KnownContract[];
  /** How many of the orders that were named could be read. */
  readonly ordersRead: number;
  /** What the sender has before, in wei. */
  readonly balance: bigint;
  /**
   * The gas that the transaction uses before anything is given back, which is
   * what its limit has to allow; null if nothing was executed.
   */
  readonly gasNeeded: bigint | null;
}

/** A settlement to simulate. */
interface SimulationRequest extends Partial<
  Pick<SimulationParameters, "gas" | "hardfork" | "isPast" | "isTimed">
> {
  readonly sender: string;
  readonly orderIDs?: readonly bigint[];
  readonly tokens?: readonly string[];
  /** Those that may be asked, in this order. */
  readonly engines?: readonly HttpEngine[];
  /** What a unit of gas costs, in wei; what a settlement would pay unless given. */
  readonly pricePerGas?: bigint;
}

const httpEngines = ["simulateV1", "call", "fork"] as const;

/** Orders that one request reads before and after. */
const MOST_ORDERS = 400;

/** @see HardhatVault.simulateSettleAll */
export async function simulateSettleAll(
  whole: VaultHost,
  options: SimulateSettleAllOptions,
): Promise<Simulated> {
  const { as, atTime, blockNumber, hardfork } = options;
  checkTime(atTime);
  const named = as === undefined ? undefined : parseAddress(as, "as");
  const chosen = checkOptions(whole, options);
  const vault = whole.withDeadline(options);
  const [sender, next] = await Promise.all([
    named ?? vault.defaultSender(),
    findBlock(vault, blockNumber, atTime),
  ]);
  const isPast = blockNumber !== undefined;
  const isTimed = atTime !== undefined;
  return await simulateSettlement(
    vault,
    { ...chosen, sender, hardfork, isPast, isTimed },
    next,
  );
}

/**
 * Simulates one settlement: over HTTP with the first engine that can, in process
 * on the network itself.
 *
 * @param next The block to execute in.
 * @throws VaultError VAULT_ENGINE_UNAVAILABLE if none of them can,
 * VAULT_NO_CODE, VAULT_NOT_A_TOKEN, VAULT_ARCHIVE_NODE_NEEDED,
 * VAULT_CONTRACT_NOT_CONFIGURED, what is wrong with an address that is
 * configured, as VAULT_INVALID_ADDRESS, and those of a failed request
 */
export async function simulateSettlement(
  whole: VaultHost,
  request: SimulationRequest,
  next: NextBlock,
): Promise<Simulated> {
  const vault = whole.withDeadline({});
  const { sender, orderIDs = [], tokens = [], gas, hardfork } = request;
  const { isPast = false, isTimed = false } = request;
  const engines =
    vault.connection.networkConfig.type === "http"
      ? (request.engines ?? httpEngines)
      : (["in-process"] as const);
  const [addresses, target] = await Promise.all([
    resolveAddresses(vault),
    vault.addressOf("vault", "settleAll"),
  ]);
  const contracts = addresses.requireKnown().map(({ address }) => address);
  const accounts = [...new Set([sender, ...contracts])];
  const subjects = { accounts, tokens, orderIDs };
  const parameters: SimulationParameters = {
    ...{
      vault,
      sender,
      target,
      gas,
      addresses,
      next,
      hardfork,
      isPast,
      isTimed,
    },
    watched: await makeWatchList(vault, target, subjects),
  };
  try {
    const [{ engine, result }, price] = await Promise.all([
      askEngines(parameters, engines),
      request.pricePerGas ?? findPrice(vault, next),
    ]);
    return await conclude(parameters, orderIDs, engine, result, price);
  } catch (error) {
    // A node that knows a block but refuses its state is no archive node.
    throw isPast && isNodeRefusal(error)
      ? vaultError(
          "VAULT_ARCHIVE_NODE_NEEDED",
          {
            network: vault.networkName,
            block: next.number - 1,
            problem: String(error.details["problem"]),
          },
          error,
        )
      : error;
  }
}

const run: Readonly<
  Record<
    SimulationEngine,
    (parameters: SimulationParameters) => Promise<EngineResult>
  >
> = {
  simulateV1: runSimulateV1,
  call: runCall,
  fork: runFork,
  "in-process": runInProcess,
};

/** Asks one engine after the other, until one can. */
async function askEngines(
  parameters: SimulationParameters,
  engines: readonly SimulationEngine[],
): Promise<{
  readonly engine: SimulationEngine;
  readonly result: EngineResult;
}> {
  let last: VaultError | undefined;
  for (const engine of engines) {
    try {
      return { engine, result: await run[engine](parameters) };
    } catch (error) {
      if (!(error instanceof EngineUnsupportedError)) {
        throw error;
      }
      const { networkName: network } = parameters.vault;
      last = vaultError(
        "VAULT_ENGINE_UNAVAILABLE",
        { engine, network, problem: error.message },
        error,
      );
    }
  }
  assertInvariant(last !== undefined, "no engine to simulate with");
  throw last;
}

/** Decodes, compares and explains what an engine returned. */
async function conclude(
  parameters: SimulationParameters,
  orderIDs: readonly bigint[],
  engine: SimulationEngine,
  result: EngineResult,
  price: bigint | undefined,
): Promise<Simulated> {
  const { vault, sender, target, watched, addresses } = parameters;
  const { networkName } = vault;
  const base = result.block.number - 1;
  const facts = factsOf(watched, result.before);
  if (facts?.accounts.get(target.address)?.hasCode === false) {
    // A call to it succeeds, which would look like a settlement.
    throw noCode("vault", target, networkName, base);
  }
  const before = decodeState(vault, watched, result.before);
  const ordersRead = [...before.readings].filter(
    ([name, value]) => name.startsWith("orders.") && !isFailedReading(value),
  ).length;
  const known = {
    base,
    sender,
    ordersRead,
    chainId: before.chainId,
    contracts: addresses.requireKnown(),
    balance: nativeBalanceOf(sender, before.balances),
  };
  const round = roundOf(before);
  if (round?.settled === true) {
    return { ...known, gasNeeded: null, simulation: nothingToDo(engine) };
  }
  const { failed, block, gasUsed, gasNeeded, transfers } = result;
  const after = decodeState(vault, watched, result.after);
  // The fee is taken off below, at the price of a real settlement.
  const balances = after.balances.map((balance) =>
    balance.account === sender && balance.token === NATIVE
      ? { ...balance, amount: balance.amount + result.feePaid }
      : balance,
  );
  const roundAfter = roundOf(after);
  const refusal =
    failed === undefined
      ? doubtAbout(networkName, round, roundAfter)
      : await describeRefusal(parameters, failed);
  return {
    ...known,
    gasNeeded,
    simulation: {
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
      balances: compareBalances(before.balances, balances, {
        account: sender,
        amount: gasUsed * (price ?? 0n),
      }),
      transfers,
      notes: [
        ...(roundAfter === undefined && refusal === null
          ? ["Whether the round is settled afterwards cannot be read."]
          : []),
        ...(ordersRead < orderIDs.length
          ? [
              `Of ${orderIDs.length} orders that were asked about, ${orderIDs.length - ordersRead} could not be read.`,
            ]
          : []),
        ...(failed === undefined && gasNeeded > TRANSACTION_GAS_CAP
          ? [
              `It uses ${gasUsed} gas, for which a limit of ${gasNeeded} may be needed: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
            ]
          : []),
        ...(price === undefined
          ? ["What a unit of gas costs is not known: no fee is taken off."]
          : []),
        ...result.notes,
        UNKNOWABLE,
      ],
    },
  };
}

function nothingToDo(engine: SimulationEngine): Simulation {
  return {
    status: "nothing-to-do",
    code: null,
    reason: "the round is settled already",
    engine,
    gasUsed: null,
    block: null,
    changes: [],
    balances: [],
    transfers: [],
    notes: [],
  };
}

/**
 * A success that leaves the round as it was must not look like one. A contract
 * that opens its next round has settled the one before: it was the current one
 * until this very call.
 */
function doubtAbout(
  network: string,
  before: VaultRound | undefined,
  after: VaultRound | undefined,
): Refusal | null {
  if (
    after?.settled !== false ||
    before === undefined ||
    !isSameRound(before, after)
  ) {
    return null;
  }
  const { code, shortMessage } = vaultError("VAULT_NOT_SETTLED", { network });
  return { code, reason: shortMessage };
}

/**
 * The block that the settlement is simulated in: the node's next one, unless a
 * block or a time is asked for.
 *
 * @throws VaultError VAULT_BLOCK_NOT_FOUND, VAULT_INVALID_BLOCK,
 * VAULT_TIME_IN_PAST, VAULT_INVALID_TIME, VAULT_INVALID_ARGUMENT and those of a
 * failed request
 */
export async function findBlock(
  vault: VaultHost,
  blockNumber?: ForkOptions["blockNumber"],
  atTime?: SimulationTime,
): Promise<NextBlock> {
  const now =
    blockNumber === undefined ? await vault.rpc.nextBlock() : undefined;
  if (atTime === undefined && now !== undefined) {
    return now.next;
  }
  const base = now?.latest ?? (await readUpstreamBlock(vault, blockNumber));
  const { number, timestamp } = base;
  const round =
    atTime === "end"
      ? await vault
          .getLatestRoundInfo({ blockTag: number })
          .catch(fallbackTo(undefined, ({ kind }) => kind !== "bug"))
      : undefined;
  return {
    ...(now?.next ?? base),
    number: number + 1,
    timestamp:
      targetTime(atTime, timestamp, round) ??
      now?.next.timestamp ??
      timestamp + 1,
  };
}

/** What a settlement would pay for a unit of gas now; undefined if not known. */
async function findPrice(
  { rpc, connection }: VaultHost,
  block: Pick<NextBlock, "baseFeePerGas">,
): Promise<bigint | undefined> {
  const fees = await resolveFees(rpc, connection.networkConfig, block).catch(
    fallbackTo(undefined, ({ kind }) => kind === "rpc"),
  );
  return fees === undefined ? undefined : currentPricePerGas(fees, block);
}

function checkOptions(
  { connection: { networkConfig }, networkName }: VaultHost,
  options: SimulateSettleAllOptions,
): Pick<SimulationRequest, "orderIDs" | "tokens" | "engines" | "gas"> {
  const { orders = [], tokens = [], gas, engine, hardfork } = options;
  const orderIDs = [...new Set(orders.map((id) => parseUint256(id, "orders")))];
  checkOrderCount(orderIDs, "orders");
  const ofFork = (["blockNumber", "hardfork", "engine"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (networkConfig.type !== "http" && ofFork !== undefined) {
    throw invalidArgument(
      ofFork,
      `network ${networkName} runs in process and is not forked, but simulated on as it is`,
    );
  }
  return {
    orderIDs,
    tokens: [...new Set(tokens.map((token) => parseAddress(token, "tokens")))],
    engines: chooseEngines(engine, hardfork),
    gas:
      gas !== undefined
        ? parseUint256(gas, "gas")
        : networkConfig.gas === "auto"
          ? undefined
          : networkConfig.gas,
  };
}

/** @throws VaultError VAULT_INVALID_ARGUMENT for more than can be watched */
export function checkOrderCount(
  { length }: readonly bigint[],
  where: string,
): void {
  if (length > MOST_ORDERS) {
    throw invalidArgument(
      where,
      `at most ${MOST_ORDERS} can be watched, and ${length} are named`,
    );
  }
}

function chooseEngines(
  engine: HttpEngine | undefined,
  hardfork: string | undefined,
): readonly HttpEngine[] {
  if (engine !== undefined && !httpEngines.includes(engine)) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: "engine",
      allowed: httpEngines.join(", "),
      value: describeInput(engine),
    });
  }
  if (hardfork !== undefined) {
    if (engine !== undefined && engine !== "fork") {
      throw invalidArgument(
        "hardfork",
        `only a fork executes by rules that one chooses, not engine ${engine}`,
      );
    }
    return ["fork"];
  }
  return engine === undefined ? httpEngines : [engine];
}
