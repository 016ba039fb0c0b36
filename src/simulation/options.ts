import { describeInput, parseAddress, parseUint256 } from "../client/inputs.js";
import type { ReadOptions } from "../client/reader.js";
import { invalidArgument, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { ForkOptions } from "./engines/fork.js";
import { checkTime } from "./next-block.js";
import type { SimulationTime } from "./next-block.js";
import type { SimulationEngine } from "./types.js";
import type { WatchedSubjects } from "./watch-list.js";

export type HttpEngine = Exclude<SimulationEngine, "in-process">;

/** In the order in which they are asked. */
export const httpEngines = ["simulateV1", "call", "fork"] as const;

/** Options of `simulateSettleAll`. */
export interface SimulateSettleAllOptions
  extends ForkOptions, Pick<ReadOptions, "onRetry"> {
  /**
   * Milliseconds until all of it has to be answered, retries and what a fork
   * fetches included. Default: no limit, and 300,000 for each request. A process
   * ends only once the fork's own requests have ended.
   */
  readonly timeout?: number | undefined;
  /**
   * Account that settles; any one, no key is needed. Default: the network's
   * `from`, else its first account.
   */
  readonly as?: string | undefined;
  /** When to settle. Default: the chain's own time. */
  readonly atTime?: SimulationTime | undefined;
  /** Orders to read before and after, at most 400. */
  readonly orders?: ReadonlyArray<bigint | number> | undefined;
  /** ERC-20 tokens whose balances are read before and after. */
  readonly tokens?: readonly string[] | undefined;
  /** Gas limit. Default: the network's `gas`, else all that a block has room for. */
  readonly gas?: bigint | number | undefined;
  /**
   * The engine that executes it. Default: the first that can, of
   * `simulateV1` (one `eth_simulateV1`), `call` (one `eth_call` with code at the
   * sender's address), `fork` (in this process); with `hardfork`, the fork. An
   * in-process network takes none.
   */
  readonly engine?: HttpEngine | undefined;
}

/** A settlement to simulate. */
export interface SimulationRequest extends WatchedSubjects {
  readonly sender: string;
  /** Gas limit. Default: the network's `gas`, else as much as a block has room for. */
  readonly gas?: bigint | undefined;
  readonly hardfork?: string | undefined;
  /** Those that may be asked, in this order. */
  readonly engines?: readonly HttpEngine[];
}

/** Orders that one request reads before and after. */
const MOST_ORDERS = 400;

/** Checks the options, before any request. */
export function checkOptions(
  { connection, networkName }: VaultHost,
  options: SimulateSettleAllOptions,
): Omit<SimulationRequest, "sender"> & { readonly sender: string | undefined } {
  const { as, orders = [], tokens = [], gas, hardfork } = options;
  checkTime(options.atTime);
  const orderIDs = [...new Set(orders.map((id) => parseUint256(id, "orders")))];
  checkOrderCount(orderIDs, "orders");
  const ofFork = (["blockNumber", "hardfork", "engine"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (connection.networkConfig.type !== "http" && ofFork !== undefined) {
    throw invalidArgument(
      ofFork,
      `network ${networkName} runs in process and is not forked, but simulated on as it is`,
    );
  }
  return {
    sender: as === undefined ? undefined : parseAddress(as, "as"),
    orderIDs,
    tokens: [...new Set(tokens.map((token) => parseAddress(token, "tokens")))],
    hardfork,
    engines: chooseEngines(options),
    gas: gas === undefined ? undefined : parseUint256(gas, "gas"),
  };
}

/** @throws VaultError VAULT_INVALID_ARGUMENT for more than can be watched */
export function checkOrderCount(
  { length }: readonly bigint[],
  where: string,
): void {
  if (length > MOST_ORDERS) {
    const problem = `at most ${MOST_ORDERS} can be watched, and ${length} are named`;
    throw invalidArgument(where, problem);
  }
}

function chooseEngines({
  engine,
  hardfork,
}: SimulateSettleAllOptions): readonly HttpEngine[] {
  if (engine !== undefined && !httpEngines.includes(engine)) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: "engine",
      allowed: httpEngines.join(", "),
      value: describeInput(engine),
    });
  }
  if (hardfork === undefined) {
    return engine === undefined ? httpEngines : [engine];
  }
  if (engine !== undefined && engine !== "fork") {
    const problem = `only a fork executes by rules that one chooses, not engine ${engine}`;
    throw invalidArgument("hardfork", problem);
  }
  return ["fork"];
}
