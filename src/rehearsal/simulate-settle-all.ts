import { isFailedReading } from "../client/failed-reading.js";
import { describeInput, parseAddress, parseUint256 } from "../client/inputs.js";
import type { ReadOptions } from "../client/reader.js";
import {
  assertInvariant,
  invalidArgument,
  otherwise,
  vaultError,
} from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { inOrder } from "../rpc/in-order.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import { compareBalances, nativeBalanceOf } from "./balances.js";
import {
  changesBetween,
  orderName,
  readRound,
  roundOf,
} from "./compare-readings.js";
import type { Readings } from "./compare-readings.js";
import { rehearseByCall } from "./engines/call.js";
import { readUpstreamBlock, rehearseOnFork } from "./engines/fork.js";
import type { ForkOptions } from "./engines/fork.js";
import { rehearseInProcess } from "./engines/in-process.js";
import { rehearseBySimulateV1 } from "./engines/simulate-v1.js";
import { currentPricePerGas, resolveFees } from "./fees.js";
import { EngineUnable, nextBlockAfter, notExecuted } from "./question.js";
import type {
  Answer,
  NextBlock,
  Question,
  Refusal,
  Subject,
} from "./question.js";
import { resolveAddresses } from "./resolved-addresses.js";
import type { KnownContract } from "./resolved-addresses.js";
import { checkTime, targetTime } from "./target-time.js";
import type { SimulationTime } from "./target-time.js";
import { explainBalances } from "./transfers.js";
import type { RehearsalEngine, Simulation } from "./types.js";
import { makeWatchList } from "./watch-list.js";

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

/** An engine that there is a choice of. */
export type HttpEngine = Exclude<RehearsalEngine, "in-process">;

/** A settlement that was rehearsed, and what else is known of it. */
export interface Rehearsed {
  readonly simulation: Simulation;
  readonly chainId: number;
  /** Number of the block that it started from. */
  readonly base: number;
  /** Who settled. */
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

/** A settlement to rehearse. */
interface RehearsalRequest {
  readonly sender: string;
  readonly orderIDs?: readonly bigint[];
  readonly tokens?: readonly string[];
  /** Gas limit of the transaction; see {@link SimulateSettleAllOptions}. */
  readonly gas?: bigint | undefined;
  /** Those that may be asked, in this order. */
  readonly engines?: readonly HttpEngine[];
  /** What a unit of gas costs, in wei; what a settlement would pay unless given. */
  readonly pricePerGas?: bigint;
  /** For the fork. */
  readonly hardfork?: string | undefined;
  /** Whether the newest block was not the one that was asked for. */
  readonly isPast?: boolean;
}

const httpEngines = ["simulateV1", "call", "fork"] as const;

/** Orders that one request reads before and after. */
const MOST_ORDERS = 400;

/** @see HardhatVault.simulateSettleAll */
export async function simulateSettleAll(
  whole: VaultHost,
  options: SimulateSettleAllOptions,
): Promise<Rehearsed> {
  const { as, atTime, blockNumber, hardfork } = options;
  checkTime(atTime);
  const named = as === undefined ? undefined : parseAddress(as, "as");
  const chosen = checkOptions(whole, options);
  const vault = whole.during(options);
  const findSender = async (): Promise<string> =>
    named ?? (await vault.defaultSender());
  if (vault.connection.networkConfig.type !== "http") {
    refuseInProcess(vault, options);
    const sender = await findSender();
    return await rehearseInPlace(vault, { sender, ...chosen }, atTime);
  }
  const [sender, next] = await Promise.all([
    findSender(),
    findBlock(vault, blockNumber, atTime),
  ]);
  const isPast = blockNumber !== undefined;
  return await rehearseSettlement(
    vault,
    { ...chosen, sender, hardfork, isPast },
    next,
  );
}

/**
 * Rehearses one settlement: over HTTP with the first engine that can, in process
 * on the network itself.
 *
 * @param next The block to execute in; in process, the network's own next one.
 * @throws VaultError VAULT_ENGINE_UNAVAILABLE where none of them can,
 * VAULT_NO_CODE, VAULT_NOT_A_TOKEN, VAULT_ARCHIVE_NODE_NEEDED,
 * VAULT_CONTRACT_NOT_CONFIGURED, what is wrong with an address that is
 * configured, as VAULT_INVALID_ADDRESS, and those of a failed request
 */
export async function rehearseSettlement(
  whole: VaultHost,
  request: RehearsalRequest,
  next: NextBlock,
): Promise<Rehearsed> {
  const vault = whole.during({});
  if (vault.connection.networkConfig.type !== "http") {
    return await rehearseInPlace(vault, request, undefined);
  }
  const { engines = httpEngines, hardfork, isPast = false } = request;
  const subject = await findSubject(vault, request);
  const base = next.number - 1;
  const question = { ...subject, next, hardfork, isPast };
  try {
    const [{ engine, answer }, price] = await Promise.all([
      askEngines(question, engines),
      request.pricePerGas ?? findPrice(vault, next),
    ]);
    return { ...conclude(subject, engine, answer, price), base };
  } catch (error) {
    throw isPast ? toArchiveError(error, vault.networkName, base) : error;
  }
}

async function rehearseInPlace(
  vault: VaultHost,
  request: RehearsalRequest,
  atTime: SimulationTime | undefined,
): Promise<Rehearsed> {
  const subject = await findSubject(vault, request);
  const { answer, header } = await inOrder(
    vault,
    async () =>
      await rehearseInProcess(subject, ({ timestamp }, round) =>
        targetTime(atTime, timestamp, round),
      ),
  );
  const price = await findPrice(vault, header);
  const base = header.number;
  return { ...conclude(subject, "in-process", answer, price), base };
}

async function findSubject(
  vault: VaultHost,
  { sender, orderIDs = [], tokens = [], gas }: RehearsalRequest,
): Promise<Subject> {
  const [addresses, target] = await Promise.all([
    resolveAddresses(vault),
    vault.addressOf("vault", "settleAll"),
  ]);
  const contracts = addresses.requireKnown().map(({ address }) => address);
  const accounts = [...new Set([sender, ...contracts])];
  const watched = await makeWatchList(vault, target, {
    accounts,
    tokens,
    orderIDs,
  });
  return { vault, sender, target, watched, gas, addresses };
}

/** Asks one engine after the other, until one can answer. */
async function askEngines(
  question: Question,
  engines: readonly HttpEngine[],
): Promise<{ readonly engine: HttpEngine; readonly answer: Answer }> {
  const { vault } = question;
  const run = {
    simulateV1: async () => await rehearseBySimulateV1(question),
    call: async () => await rehearseByCall(question),
    fork: async () => await rehearseOnFork(question),
  };
  let last: { engine: HttpEngine; unable: EngineUnable } | undefined;
  for (const engine of engines) {
    try {
      return { engine, answer: await run[engine]() };
    } catch (error) {
      if (!(error instanceof EngineUnable)) {
        throw error;
      }
      last = { engine, unable: error };
    }
  }
  assertInvariant(last !== undefined, "no engine to rehearse with");
  const { engine, unable } = last;
  const { networkName: network } = vault;
  throw vaultError(
    "VAULT_ENGINE_UNAVAILABLE",
    { engine, network, problem: unable.message },
    unable,
  );
}

/** What an answer means. */
function conclude(
  { vault: { networkName }, sender, watched, addresses }: Subject,
  engine: RehearsalEngine,
  found: Answer,
  price: bigint | undefined,
): Omit<Rehearsed, "base"> {
  const { before } = found;
  const { orderIDs } = watched;
  const roundBefore = roundOf(before);
  const isSettled = roundBefore?.settled === true;
  // An engine may have executed it nevertheless.
  const answer = isSettled ? notExecuted(before, null) : found;
  const { after, block, gasUsed, gasNeeded, transfers } = answer;
  const roundAfter = roundOf(after);
  const ordersRead = countOrders(orderIDs, before.readings);
  const refusal =
    answer.refusal ?? doubtAbout(networkName, roundBefore, roundAfter);
  const status = isSettled
    ? "nothing-to-do"
    : refusal === null
      ? "settled"
      : answer.refusal === null
        ? "not-settled"
        : "reverted";
  return {
    chainId: before.chainId,
    sender,
    contracts: addresses.requireKnown(),
    ordersRead,
    balance: nativeBalanceOf(sender, before.balances),
    gasNeeded,
    simulation: {
      status,
      code: refusal?.code ?? null,
      reason: isSettled
        ? "the round is settled already"
        : (refusal?.reason ?? null),
      engine,
      gasUsed,
      block,
      changes: changesBetween(before.readings, after.readings),
      balances: compareBalances(before.balances, after.balances, {
        account: sender,
        amount: (gasUsed ?? 0n) * (price ?? 0n),
      }),
      transfers,
      notes: isSettled
        ? []
        : [
            ...(roundAfter === undefined && refusal === null
              ? ["Whether the round is settled afterwards cannot be read."]
              : []),
            ...(ordersRead < orderIDs.length
              ? [
                  `Of ${orderIDs.length} orders that were asked about, ${orderIDs.length - ordersRead} could not be read.`,
                ]
              : []),
            ...(gasNeeded !== null &&
            answer.refusal === null &&
            gasNeeded > TRANSACTION_GAS_CAP
              ? [
                  `It uses ${gasUsed} gas, for which a limit of ${gasNeeded} may be needed: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
                ]
              : []),
            ...(transfers === null ||
            explainBalances(transfers, before.balances, after.balances)
              ? []
              : [
                  "The list of transfers is not whole: balances show that more native currency moves, as when a contract destroys itself.",
                ]),
            ...(price === undefined
              ? ["What a unit of gas costs is not known: no fee is taken off."]
              : []),
            ...answer.notes,
          ],
    },
  };
}

/** How many of them were read, which a failed reading was not. */
function countOrders(orderIDs: readonly bigint[], readings: Readings): number {
  return orderIDs.filter((orderID) => {
    const name = orderName(orderID);
    return readings.has(name) && !isFailedReading(readings.get(name));
  }).length;
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
 * The block that the settlement is rehearsed in: the node's next one, unless a
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
  const pending =
    blockNumber === undefined ? await vault.chain.pending() : undefined;
  if (atTime === undefined && pending?.number !== undefined) {
    return { ...pending, number: pending.number };
  }
  const header = await readUpstreamBlock(vault, blockNumber);
  const time = targetTime(
    atTime,
    header.timestamp,
    atTime === "end" ? await readRound(vault, header.number) : undefined,
  );
  const next = nextBlockAfter(header);
  return {
    ...next,
    timestamp: time ?? Math.max(pending?.timestamp ?? 0, next.timestamp),
    baseFeePerGas: (pending ?? header).baseFeePerGas,
  };
}

/**
 * What a settlement would pay for a unit of gas now, in wei; undefined where the
 * node does not tell.
 */
async function findPrice(
  { chain, connection }: VaultHost,
  block: Pick<NextBlock, "baseFeePerGas">,
): Promise<bigint | undefined> {
  const fees = await resolveFees(chain, connection.networkConfig, block).catch(
    otherwise(undefined, ({ kind }) => kind === "rpc"),
  );
  return fees === undefined ? undefined : currentPricePerGas(fees, block);
}

function refuseInProcess(
  { networkName }: VaultHost,
  options: SimulateSettleAllOptions,
): void {
  const where = (["blockNumber", "hardfork", "engine"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (where !== undefined) {
    throw invalidArgument(
      where,
      `network ${networkName} runs in process and is not forked, but simulated on as it is`,
    );
  }
}

function checkOptions(
  { connection }: VaultHost,
  { orders = [], tokens = [], gas, engine, hardfork }: SimulateSettleAllOptions,
): Omit<RehearsalRequest, "sender"> {
  const configured = connection.networkConfig.gas;
  const orderIDs = [...new Set(orders.map((id) => parseUint256(id, "orders")))];
  checkOrderCount(orderIDs, "orders");
  return {
    orderIDs,
    tokens: [...new Set(tokens.map((token) => parseAddress(token, "tokens")))],
    engines: chooseEngines(engine, hardfork),
    gas:
      gas !== undefined
        ? parseUint256(gas, "gas")
        : configured === "auto"
          ? undefined
          : configured,
  };
}

/**
 * @param where What an error text calls the list.
 * @throws VaultError VAULT_INVALID_ARGUMENT for more than can be watched
 */
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

/**
 * A node that knows a block but refuses its state is not an archive node; its
 * own words differ from node to node, and are kept.
 */
function toArchiveError(
  error: unknown,
  network: string,
  block: number,
): unknown {
  return isNodeRefusal(error)
    ? vaultError(
        "VAULT_ARCHIVE_NODE_NEEDED",
        { network, block, problem: String(error.details["problem"]) },
        error,
      )
    : error;
}
