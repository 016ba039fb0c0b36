import { noCode } from "../client/codec.js";
import {
  checkOptions,
  checksumAddress,
  notOneOf,
  optional,
  parseAccount,
  parseTime,
  parseUint,
  requireFuture,
  withAddress,
} from "../client/inputs.js";
import type { AccountLike, BlockTag, OptionsOf } from "../client/inputs.js";
import { readOptions } from "../client/read-at-block.js";
import {
  assertInvariant,
  fallbackTo,
  invalidArgument,
  vaultError,
} from "../errors.js";
import { findRoute, namedTokens } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { Address } from "../protocol/index.js";
import { blockAfter, getNextBlock } from "../rpc/blocks.js";
import type { Header } from "../rpc/blocks.js";
import { resolveFees } from "../sending/fees.js";
import type { GasPrice } from "../sending/fees.js";
import { executeOnFork } from "./engines/fork.js";
import { executeInProcess } from "./engines/in-process.js";
import { executeBySimulateV1 } from "./engines/simulate-v1.js";
import { forkedBlockOptions, readForkedBlock } from "./fork.js";
import { toSimulation } from "./outcome.js";
import { contractsNaming } from "./tokens.js";
import type {
  Attempt,
  ChainState,
  ChosenBlock,
  Execute,
  Execution,
  Simulation,
  SimulationEngine,
  WatchList,
} from "./types.js";
import { accountIn, makeWatchList } from "./watch-list.js";
import type { LocatedRole } from "../client/contracts.js";

/** Round's `end`, duration from the chain's clock (`+1h`), ISO date, or Unix seconds. */
export type SimulationTime = string | number | bigint;

export type HttpEngine = Exclude<SimulationEngine, "in-process">;

const httpEngines = ["simulateV1", "fork"] as const;

const simulateOptions = {
  ...forkedBlockOptions,
  signal: readOptions.signal,
  onRetry: readOptions.onRetry,
  /**
   * Milliseconds for the whole simulation, retries and a fork's requests included.
   * Default: no limit, but 300,000 for each request. A process exits only after the
   * fork's own requests have ended.
   */
  timeout: optional<number>(),
  /**
   * Account that settles: an address or a signer, whose key is not needed. Default: the
   * network's `from`, else its first account.
   */
  from: optional<AccountLike>(),
  /** Time of the settlement. Default: the chain's own time. */
  atTime: optional<SimulationTime>(),
  /** Orders to read before and after, at most 400. */
  orders: optional<ReadonlyArray<bigint | number>>(),
  /**
   * ERC-20 tokens whose balances are read before and after, and which a guard forwards to
   * the sender. Default: `vault.tokens` of the network.
   */
  tokens: optional<readonly string[]>(),
  /** Gas limit. Default: the network's `gas`, else the block's gas limit. */
  gas: optional<bigint | number>(),
  /**
   * Engine: `simulateV1` (one `eth_simulateV1`) or `fork` (in this process). Default: the
   * first that works, or `fork` if `hardfork` is set. In-process networks do not accept
   * this option.
   */
  engine: optional<HttpEngine>(),
};

/** Options of `simulateSettleAll`. */
export interface SimulateSettleAllOptions extends OptionsOf<
  typeof simulateOptions
> {}

/** What to simulate, and what is watched meanwhile. */
export interface SimulationRequest {
  readonly route: SettlementRoute;
  readonly price: GasPrice;
  readonly contracts: readonly LocatedRole[];
  readonly orderIDs?: readonly bigint[];
  readonly tokens?: readonly Address[] | undefined;
  readonly gas?: bigint | undefined;
  readonly engine?: HttpEngine | undefined;
  readonly hardfork?: string | undefined;
}

/** One request reads all orders, before and after. */
const MOST_ORDERS = 400;

function parseRequest(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
): Omit<SimulationRequest, "route" | "price" | "contracts"> {
  const { connection, networkName } = vault;
  checkOptions("simulateSettleAll()", options, simulateOptions);
  const { orders = [], hardfork, engine } = options;
  const orderIDs = [...new Set(orders.map((id) => parseUint(id, "orders")))];
  if (orderIDs.length > MOST_ORDERS) {
    const problem = `at most ${MOST_ORDERS} can be watched, and ${orderIDs.length} are named`;
    throw invalidArgument("orders", problem);
  }
  const isHttp = connection.networkConfig.type === "http";
  const ofFork = (["blockNumber", "hardfork", "engine"] as const).find(
    (name) => !isHttp && options[name] !== undefined,
  );
  if (ofFork !== undefined) {
    throw invalidArgument(
      ofFork,
      `network ${networkName} runs in process and is simulated on as it is, not forked`,
      "Omit it, or use a network of type http.",
    );
  }
  if (engine !== undefined && !httpEngines.includes(engine)) {
    throw notOneOf("engine", httpEngines, engine);
  }
  if (hardfork !== undefined && engine === "simulateV1") {
    const problem = `engine ${engine} cannot choose it`;
    throw invalidArgument("hardfork", problem, "Omit one of both options.");
  }
  const gas =
    options.gas === undefined ? undefined : parseUint(options.gas, "gas");
  const tokens = namedTokens(vault, options.tokens);
  return { orderIDs, tokens, hardfork, engine, gas };
}

export interface Simulated {
  readonly simulation: Simulation;
  readonly chainId: number;
  /** The block that it started from. */
  readonly base: Header;
  readonly sender: Address;
  /** Contracts whose balances were read. */
  readonly contracts: readonly LocatedRole[];
  /** Sender's balance before, in wei. */
  readonly balance: bigint;
  /** Gas used before refunds, or an upper bound of it. */
  readonly gasNeeded: bigint;
  /** Tokens that stay in the guard, from which nobody can take them. */
  readonly kept: readonly Address[];
}

/**
 * @see HardhatVault.simulateSettleAll
 *
 * @param findSender Finds the account that settles if the options name none.
 */
export async function simulateSettleAll(
  vault: VaultHost,
  given: SimulateSettleAllOptions,
  findSender?: () => Promise<string>,
): Promise<Simulated> {
  const options = await withAddress(given);
  const asked = parseRequest(vault, options);
  const { timeout, signal, onRetry, blockNumber, atTime, from } = options;
  const named = from === undefined ? undefined : parseAccount(from, "from");
  // Its `from` settles; the caller of reads is another one.
  const client = vault.withOptions({ timeout, signal, onRetry });
  const choosing = chooseBlock(client, blockNumber, atTime);
  const [sender, next, price, contracts] = await Promise.all([
    named ?? findSender?.() ?? client.defaultSender(),
    choosing,
    resolveFees(client.rpc, client.connection.networkConfig, choosing),
    client.locateAll(),
  ]);
  const { tokens } = asked;
  const route = await findRoute(client, sender, next.base, { tokens });
  return await simulate(client, { ...asked, route, price, contracts }, next);
}

const END = "end";

/** Finds the block after `blockNumber`, else the node's next one, at that time or its own. */
export async function chooseBlock(
  vault: VaultHost,
  blockNumber: BlockTag | undefined,
  atTime: SimulationTime | undefined,
): Promise<ChosenBlock> {
  const next =
    (blockNumber ?? "latest") === "latest"
      ? await getNextBlock(vault.rpc)
      : blockAfter(await readForkedBlock(vault, blockNumber));
  if (atTime === undefined) {
    return next;
  }
  const { timestamp } = next.base;
  let seconds: bigint;
  if (atTime === END) {
    const round = await vault.getLatestRoundInfo({ blockTag: next.base });
    seconds = round.endTime;
    if (seconds <= BigInt(timestamp)) {
      return { ...next, isTimed: true };
    }
  } else {
    seconds = parseTime(String(atTime), "atTime", timestamp, [END]);
    requireFuture(seconds, "atTime", timestamp);
  }
  if (seconds > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw invalidArgument(
      "atTime",
      `no block has a time of ${seconds} seconds`,
    );
  }
  return { ...next, timestamp: Number(seconds), isTimed: true };
}

/**
 * Simulates a settlement once, as it would be sent.
 *
 * @param next The block that it would be in.
 * @throws VaultError VAULT_ENGINE_UNAVAILABLE if no engine can
 */
export async function simulate(
  vault: VaultHost,
  request: SimulationRequest,
  next: ChosenBlock,
): Promise<Simulated> {
  const { networkName: network, connection } = vault;
  const { base } = next;
  const { route, price, contracts, orderIDs, tokens, hardfork } = request;
  const sender = checksumAddress(route.from);
  const { gas: configured } = connection.networkConfig;
  const gas = request.gas ?? (configured === "auto" ? undefined : configured);
  const attempt: Attempt = {
    route: { ...route, from: sender },
    gas: gas ?? next.gasLimit,
    isGasGiven: gas !== undefined,
    gasPrice: price.current,
    next,
    hardfork,
  };
  const watched = makeWatchList({
    network,
    contracts,
    accounts: [sender, ...contracts.map(({ address }) => address)],
    orderIDs,
    tokens: [...new Set(tokens)],
  });
  const names = engineNamesFor(vault, request);
  const execution = await executeWithFirst(vault, names, attempt, watched);
  const { before } = execution;
  const target = contracts.find(({ role }) => role === "vault");
  assertInvariant(target !== undefined, "a settlement without a vault");
  if (accountIn(before, target.address).codeSize === 0n) {
    // Its code is known from the readings, without a request of its own. A call to an
    // address without code succeeds, and would pass for a settlement.
    throw noCode("vault", target, network, base.number);
  }
  requireTokens(network, before);
  const kept = await findKept(vault, attempt, execution);
  return {
    simulation: await toSimulation(vault, attempt, execution, kept),
    chainId: before.block.chainId,
    base,
    sender,
    contracts,
    balance: accountIn(before, sender).balance,
    gasNeeded: execution.gasNeeded,
    kept,
  };
}

/** @throws VaultError VAULT_INVALID_ARGUMENT for an address that is no token */
function requireTokens(network: string, { balances }: ChainState): void {
  const wrong = balances.find(({ amount }) => amount === undefined);
  if (wrong !== undefined) {
    throw invalidArgument(
      `The token ${wrong.token} on network ${network}`,
      "it does not return a balance as ERC-20 tokens do",
      "Check the address.",
    );
  }
}

const engines: Readonly<Record<SimulationEngine, Execute>> = {
  simulateV1: executeBySimulateV1,
  fork: executeOnFork,
  "in-process": executeInProcess,
};

/** Names of the engines to try, in this order: the chain's own EVM before that of a fork. */
function engineNamesFor(
  { connection }: VaultHost,
  { engine, hardfork }: SimulationRequest,
): readonly SimulationEngine[] {
  if (connection.networkConfig.type !== "http") {
    return ["in-process"];
  }
  if (engine !== undefined) {
    return [engine];
  }
  return hardfork === undefined ? httpEngines : ["fork"];
}

/** @throws VaultError VAULT_ENGINE_UNAVAILABLE if none of the engines can */
async function executeWithFirst(
  vault: VaultHost,
  names: readonly SimulationEngine[],
  attempt: Attempt,
  watched: WatchList,
): Promise<Execution> {
  const problems: string[] = [];
  for (const name of names) {
    const executed = await engines[name](vault, attempt, watched);
    if (!("unavailable" in executed)) {
      return executed;
    }
    problems.push(executed.unavailable);
  }
  throw vaultError("VAULT_ENGINE_UNAVAILABLE", {
    engine: names.join(" or "),
    network: vault.networkName,
    problem: problems.join("; "),
  });
}

/**
 * Finds the tokens that stay in the guard. Events alone prove nothing: if one of a token
 * that the guard does not forward names the guard, its balance is read before and after.
 */
async function findKept(
  vault: VaultHost,
  attempt: Attempt,
  { engine, failed, logs }: Execution,
): Promise<readonly Address[]> {
  const { from, guard } = attempt.route;
  if (guard === undefined || failed !== undefined) {
    return [];
  }
  const suspects = contractsNaming(guard.address, logs).filter(
    (token) => token !== guard.address && !guard.tokens.includes(token),
  );
  if (suspects.length === 0) {
    return [];
  }
  const watched = makeWatchList({
    network: vault.networkName,
    contracts: [],
    accounts: [from, guard.address],
    tokens: suspects,
  });
  // A node may refuse the second simulation, or a suspect take all gas that the node gives:
  // then a fork reads, whatever the options name. It gives enough.
  const names = engine === "simulateV1" ? [engine, "fork" as const] : [engine];
  const second = await executeWithFirst(vault, names, attempt, watched).catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_ENGINE_UNAVAILABLE"),
  );
  if (second === undefined || second.failed !== undefined) {
    // Nobody can tell: what an event names may stay.
    return suspects;
  }
  const { before, after } = second;
  const held = ({ balances }: ChainState, of: Address): bigint =>
    balances.find(
      ({ account, token }) => account === guard.address && token === of,
    )?.amount ?? 0n;
  return suspects.filter((token) => held(after, token) > held(before, token));
}
