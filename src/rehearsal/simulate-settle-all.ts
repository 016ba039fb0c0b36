import type { LocatedAddress } from "../client/addresses.js";
import { describeInput, parseAddress, parseUint256 } from "../client/inputs.js";
import type { ReadOptions } from "../client/reader.js";
import { VaultError, assertInvariant, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { ContractRole, VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { Chain } from "../rpc/node.js";
import { originOf } from "../rpc/patient.js";
import type { PendingBlock } from "../rpc/node.js";
import { compareBalances, nativeBalanceOf } from "./balances.js";
import { rehearseByCall } from "./engines/call.js";
import { readUpstreamBlock, rehearseOnFork } from "./engines/fork.js";
import type { ForkOptions, ForkSettings } from "./engines/fork.js";
import { exclusively, rehearseInProcess } from "./engines/in-process.js";
import { rehearseBySimulateV1 } from "./engines/simulate-v1.js";
import { noCode } from "./execute-on-chain.js";
import { EngineUnable } from "./question.js";
import type { Answer, NextBlock, Question, Refusal } from "./question.js";
import { TRANSACTION_GAS_CAP } from "./refusal.js";
import { resolveAddresses } from "./resolved-addresses.js";
import { checkTime, targetTime } from "./target-time.js";
import type { SimulationTime } from "./target-time.js";
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
  /** Orders to read before and after. */
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
  readonly contracts: ReadonlyArray<
    LocatedAddress & { readonly role: ContractRole }
  >;
  /** The rounds before and after; undefined where they cannot be read. */
  readonly roundBefore: VaultRound | undefined;
  readonly roundAfter: VaultRound | undefined;
  /** What the sender has before, in wei. */
  readonly balance: bigint;
  /**
   * The gas that the transaction uses before anything is given back, which is
   * what its limit has to allow; null if nothing was executed.
   */
  readonly gasNeeded: bigint | null;
}

/** A settlement to rehearse, all of it checked. */
export interface RehearsalRequest {
  readonly sender: string;
  /** The block to execute in; the next one unless given. */
  readonly next?: NextBlock | undefined;
  readonly orderIDs?: readonly bigint[] | undefined;
  readonly tokens?: readonly string[] | undefined;
  readonly gas?: bigint | undefined;
  /** What a unit of gas costs, in wei; what a settlement would pay unless given. */
  readonly pricePerGas?: bigint | undefined;
  /** Those that may be asked, in this order. */
  readonly engines?: readonly HttpEngine[] | undefined;
  /** For the fork. */
  readonly hardfork?: string | undefined;
  /** Whether the newest block was not the one that was asked for. */
  readonly isPast?: boolean | undefined;
}

/** The options, checked. */
interface CheckedOptions {
  readonly as: string | undefined;
  readonly orderIDs: readonly bigint[];
  readonly tokens: readonly string[];
  readonly atTime: SimulationTime | undefined;
  readonly gas: bigint | undefined;
  readonly engines: readonly HttpEngine[];
}

const httpEngines = ["simulateV1", "call", "fork"] as const;

/** @see HardhatVault.simulateSettleAll */
export async function simulateSettleAll(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
): Promise<Simulation> {
  return (await simulate(vault, options)).simulation;
}

/** The same, with what a report has to say beside it. */
export async function simulate(
  whole: VaultHost,
  options: SimulateSettleAllOptions,
): Promise<Rehearsed> {
  const checked = checkOptions(whole, options);
  const vault = whole.during(options);
  const { blockNumber, hardfork } = options;
  const isHttp = vault.connection.networkConfig.type === "http";
  if (!isHttp) {
    refuseInProcess(vault, options);
  }
  const findSender = async (): Promise<string> =>
    checked.as ?? (await vault.defaultSender());
  if (!isHttp) {
    const sender = await findSender();
    return await exclusively(
      vault.provider,
      async () => await rehearseInPlace(vault, sender, checked),
    );
  }
  const [sender, next] = await Promise.all([
    findSender(),
    findBlock(vault, blockNumber, checked.atTime),
  ]);
  const { orderIDs, tokens, gas, engines } = checked;
  return await rehearseSettlement(vault, {
    sender,
    next,
    orderIDs,
    tokens,
    gas,
    engines,
    hardfork,
    isPast: blockNumber !== undefined,
  });
}

/**
 * Rehearses one settlement over HTTP, with the first engine that can.
 *
 * @throws VaultError VAULT_ENGINE_UNAVAILABLE where none of them can,
 * VAULT_NO_CODE, VAULT_NOT_A_TOKEN, VAULT_ARCHIVE_NODE_NEEDED,
 * VAULT_CONTRACT_NOT_CONFIGURED and those of a failed request
 */
export async function rehearseSettlement(
  whole: VaultHost,
  {
    sender,
    orderIDs = [],
    tokens = [],
    gas,
    engines = httpEngines,
    hardfork,
    isPast = false,
    ...request
  }: RehearsalRequest,
): Promise<Rehearsed> {
  const vault = whole.during({});
  const { networkName } = vault;
  const [addresses, target, next] = await Promise.all([
    resolveAddresses(vault),
    vault.addressOf("vault", "settleAll"),
    request.next ?? findBlock(vault),
  ]);
  const contracts = addresses.known;
  const watched = await makeWatchList(vault, target, {
    accounts: unique([sender, ...contracts.map(({ address }) => address)]),
    tokens,
    orderIDs,
  });
  const question = { vault, sender, target, watched, next, gas };
  try {
    const [{ engine, answer }, price] = await Promise.all([
      askEngines(question, engines, { addresses, hardfork, isHead: !isPast }),
      request.pricePerGas ?? findPrice(vault, next),
    ]);
    if (answer.withoutCode?.includes(target.address) === true) {
      throw noCode(networkName, target, next.number - 1);
    }
    return {
      ...conclude(vault, sender, engine, answer, price),
      base: next.number - 1,
      contracts,
    };
  } catch (error) {
    throw isPast ? toArchiveError(error, networkName, next.number - 1) : error;
  }
}

async function rehearseInPlace(
  vault: VaultHost,
  sender: string,
  { orderIDs, tokens, gas, atTime }: CheckedOptions,
): Promise<Rehearsed> {
  const [addresses, target] = await Promise.all([
    resolveAddresses(vault),
    vault.addressOf("vault", "settleAll"),
  ]);
  const contracts = addresses.known;
  const { answer, header } = await rehearseInProcess(
    {
      vault,
      sender,
      target,
      watched: {
        accounts: unique([sender, ...contracts.map(({ address }) => address)]),
        tokens,
        orderIDs,
      },
      gas,
    },
    ({ timestamp }, round) => targetTime(atTime, timestamp, round),
  );
  return {
    ...conclude(
      vault,
      sender,
      "in-process",
      answer,
      await findPrice(vault, header),
    ),
    base: header.number,
    contracts,
  };
}

/** Asks one engine after the other, until one can answer. */
async function askEngines(
  question: Question,
  engines: readonly HttpEngine[],
  settings: ForkSettings,
): Promise<{ readonly engine: HttpEngine; readonly answer: Answer }> {
  const { vault } = question;
  const run = {
    simulateV1: async () => await rehearseBySimulateV1(question),
    call: async () => await rehearseByCall(question),
    fork: async () => await rehearseOnFork(question, settings),
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
  const args = {
    engine,
    network: vault.networkName,
    problem: unable.problem,
  };
  if (!unable.isCapped) {
    throw vaultError("VAULT_ENGINE_UNAVAILABLE", args, unable);
  }
  const { code, message } = vaultError("VAULT_REHEARSAL_CAPPED", args);
  return {
    engine,
    answer: {
      chainId: await vault.chainId(),
      block: null,
      roundBefore: undefined,
      roundAfter: undefined,
      changes: [],
      before: [],
      after: [],
      refusal: { code, reason: message, isOurs: true },
      gasUsed: null,
      gasNeeded: null,
      transfers: null,
      notes: [],
    },
  };
}

/** What an answer means. */
function conclude(
  { networkName }: VaultHost,
  sender: string,
  engine: RehearsalEngine,
  answer: Answer,
  price: bigint | undefined,
): Omit<Rehearsed, "base" | "contracts"> {
  const { roundBefore, roundAfter, before, gasUsed, gasNeeded } = answer;
  const known = {
    chainId: answer.chainId,
    sender,
    roundBefore,
    roundAfter,
    balance: nativeBalanceOf(sender, before),
    gasNeeded,
  };
  if (roundBefore?.settled === true) {
    return {
      ...known,
      gasNeeded: null,
      simulation: {
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
      },
    };
  }
  const refusal = answer.refusal ?? doubtAbout(networkName, answer);
  return {
    ...known,
    simulation: {
      status:
        refusal === null
          ? "settled"
          : answer.refusal === null || refusal.isOurs === true
            ? "not-settled"
            : "reverted",
      code: refusal?.code ?? null,
      reason: refusal?.reason ?? null,
      engine,
      gasUsed,
      block: answer.block,
      changes: answer.changes,
      balances: compareBalances(before, answer.after, {
        account: sender,
        amount: (gasUsed ?? 0n) * (price ?? 0n),
      }),
      transfers: answer.transfers,
      notes: [
        ...(roundAfter === undefined && refusal === null
          ? ["Whether the round is settled afterwards cannot be read."]
          : []),
        ...(gasNeeded !== null &&
        answer.refusal === null &&
        gasNeeded > TRANSACTION_GAS_CAP
          ? [
              `It uses ${gasUsed} gas, for which a limit of ${gasNeeded} may be needed: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
            ]
          : []),
        ...(price === undefined
          ? ["What a unit of gas costs is not known: no fee is taken off."]
          : []),
        ...answer.notes,
      ],
    },
  };
}

/**
 * A success that leaves the round as it was must not look like one. A contract
 * that opens its next round has settled the one before: it was the current one
 * until this very call.
 */
function doubtAbout(
  network: string,
  { roundBefore, roundAfter }: Answer,
): Refusal | null {
  if (
    roundAfter?.settled !== false ||
    roundBefore === undefined ||
    !isSameRound(roundBefore, roundAfter)
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
async function findBlock(
  vault: VaultHost,
  blockNumber?: ForkOptions["blockNumber"],
  atTime?: SimulationTime,
): Promise<NextBlock> {
  const chain = new Chain(vault.provider, vault.networkName);
  const isNow = blockNumber === undefined;
  const findPending = async (): Promise<PendingBlock | undefined> =>
    isNow ? await chain.pending() : undefined;
  const first = atTime === undefined ? await findPending() : undefined;
  if (first?.number !== undefined) {
    return { ...first, number: first.number, isPending: first.isEmpty };
  }
  const [header, pending] = await Promise.all([
    readUpstreamBlock(vault, blockNumber),
    atTime === undefined ? first : findPending(),
  ]);
  const time = targetTime(
    atTime,
    header.timestamp,
    atTime === "end" ? await readRound(vault, header.number) : undefined,
  );
  return {
    number: header.number + 1,
    timestamp: time ?? Math.max(pending?.timestamp ?? 0, header.timestamp + 1),
    gasLimit: header.gasLimit,
    baseFeePerGas: (pending ?? header).baseFeePerGas,
    isPending: atTime === undefined && pending?.isEmpty === true,
  };
}

async function readRound(
  vault: VaultHost,
  blockTag: number,
): Promise<VaultRound | undefined> {
  try {
    return await vault.getLatestRoundInfo({ blockTag });
  } catch (error) {
    if (!VaultError.isVaultError(error) || error.kind === "bug") {
      throw error;
    }
    return undefined;
  }
}

const pricesByProvider = new WeakMap<
  object,
  { readonly block: number; readonly price: bigint }
>();

/**
 * What a settlement would pay for a unit of gas now, in wei; undefined where the
 * node does not tell. As long as the chain does not go on, it stays the same.
 */
async function findPrice(
  vault: VaultHost,
  { number, baseFeePerGas }: Pick<NextBlock, "number" | "baseFeePerGas">,
): Promise<bigint | undefined> {
  const origin = originOf(vault.provider);
  const known = pricesByProvider.get(origin);
  if (known?.block === number) {
    return known.price;
  }
  try {
    const price = await vault.pricePerGas(baseFeePerGas);
    pricesByProvider.set(origin, { block: number, price });
    return price;
  } catch (error) {
    if (VaultError.isVaultError(error) && error.kind === "rpc") {
      return undefined;
    }
    throw error;
  }
}

function refuseInProcess(
  { networkName }: VaultHost,
  { blockNumber, hardfork, engine }: SimulateSettleAllOptions,
): void {
  const where =
    blockNumber !== undefined
      ? "blockNumber"
      : hardfork !== undefined
        ? "hardfork"
        : engine !== undefined
          ? "engine"
          : undefined;
  if (where !== undefined) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where,
      problem: `network ${networkName} runs in process and is not forked, but simulated on as it is`,
    });
  }
}

function checkOptions(
  { connection }: VaultHost,
  {
    as,
    atTime,
    orders = [],
    tokens = [],
    gas,
    engine,
    hardfork,
  }: SimulateSettleAllOptions,
): CheckedOptions {
  const { networkConfig } = connection;
  checkTime(atTime);
  return {
    as: as === undefined ? undefined : parseAddress(as, "as"),
    orderIDs: unique(orders.map((id) => parseUint256(id, "orders"))),
    tokens: unique(tokens.map((token) => parseAddress(token, "tokens"))),
    atTime,
    engines: chooseEngines(engine, hardfork),
    gas:
      gas !== undefined
        ? parseUint256(gas, "gas")
        : networkConfig.gas === "auto"
          ? undefined
          : networkConfig.gas,
  };
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
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: "hardfork",
        problem: `only a fork executes by rules that one chooses, not engine ${engine}`,
      });
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
  return VaultError.isVaultError(error) && error.code === "VAULT_RPC_ERROR"
    ? vaultError(
        "VAULT_ARCHIVE_NODE_NEEDED",
        { network, block, problem: String(error.details["problem"]) },
        error,
      )
    : error;
}

function unique<T>(values: readonly T[]): readonly T[] {
  return [...new Set(values)];
}
