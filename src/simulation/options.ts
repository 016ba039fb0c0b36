import { notOneOf, parseAccount, parseUint256 } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import { checkOptions, option } from "../client/options.js";
import type { OptionsOf } from "../client/options.js";
import { readOptions } from "../client/reader.js";
import { invalidArgument } from "../errors.js";
import { namedTokens } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { GasPrice } from "../sending/fees.js";
import { checkTime } from "./next-block.js";
import type { SimulationTime } from "./next-block.js";
import { forkedBlockOptions } from "./fork.js";
import type { SimulationEngine } from "./types.js";

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
  timeout: option<number>(),
  /**
   * Account that settles: an address or a signer, whose key is not needed. Default: the
   * network's `from`, else its first account.
   */
  from: option<AccountLike>(),
  /** Time of the settlement. Default: the chain's own time. */
  atTime: option<SimulationTime>(),
  /** Orders to read before and after, at most 400. */
  orders: option<ReadonlyArray<bigint | number>>(),
  /**
   * ERC-20 tokens whose balances are read before and after, and which a guard forwards to
   * the sender. Default: `vault.tokens` of the network.
   */
  tokens: option<readonly string[]>(),
  /** Gas limit. Default: the network's `gas`, else the block's gas limit. */
  gas: option<bigint | number>(),
  /**
   * Engine: `simulateV1` (one `eth_simulateV1`) or `fork` (in this process). Default: the
   * first that works, or `fork` if `hardfork` is set. In-process networks do not accept
   * this option.
   */
  engine: option<HttpEngine>(),
};

/** Options of `simulateSettleAll`. */
export interface SimulateSettleAllOptions extends OptionsOf<
  typeof simulateOptions
> {}

export interface SimulationRequest {
  readonly sender: string;
  readonly orderIDs?: readonly bigint[];
  /** ERC-20 contracts. */
  readonly tokens?: readonly string[];
  readonly gas?: bigint | undefined;
  /** Default: the first that works. */
  readonly engine?: HttpEngine | undefined;
  /** Only a fork can choose it. */
  readonly hardfork?: string | undefined;
  /** The way of the settlement, from the sender. Default: the configured one. */
  readonly route?: SettlementRoute;
  /** The price of gas; undefined if it is not known. */
  readonly price?: GasPrice | undefined;
}

/** One request reads all orders, before and after. */
const MOST_ORDERS = 400;

export function parseOptions(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
): Omit<SimulationRequest, "sender"> & { readonly sender: string | undefined } {
  const { connection, networkName } = vault;
  checkOptions("simulateSettleAll()", options, simulateOptions);
  const { from, orders = [], hardfork, engine } = options;
  checkTime(options.atTime);
  const orderIDs = [...new Set(orders.map((id) => parseUint256(id, "orders")))];
  if (orderIDs.length > MOST_ORDERS) {
    const problem = `at most ${MOST_ORDERS} can be watched, and ${orderIDs.length} are named`;
    throw invalidArgument("orders", problem);
  }
  const ofFork = (["blockNumber", "hardfork", "engine"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (connection.networkConfig.type !== "http" && ofFork !== undefined) {
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
    options.gas === undefined ? undefined : parseUint256(options.gas, "gas");
  // Nodes refuse more, as a request that they do not understand.
  if (gas !== undefined && gas >= 2n ** 64n) {
    throw invalidArgument("gas", "it is above 2^64 - 1", "Pass less.");
  }
  return {
    sender: from === undefined ? undefined : parseAccount(from, "from"),
    orderIDs,
    tokens: [...new Set(namedTokens(vault, options.tokens))],
    hardfork,
    engine,
    gas,
  };
}
