import { describeInput, parseAddress, parseUint256 } from "../client/inputs.js";
import type { ReadOptions } from "../client/reader.js";
import { invalidArgument, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { httpEngines } from "./engines/run-engines.js";
import type { HttpEngine } from "./engines/run-engines.js";
import type { ForkOptions } from "./engines/fork.js";
import { checkTime } from "./next-block.js";
import type { SimulationTime } from "./next-block.js";
import type { WatchedSubjects } from "./watch-list.js";

/** Options of `simulateSettleAll`. */
export interface SimulateSettleAllOptions
  extends ForkOptions, Pick<ReadOptions, "onRetry"> {
  /**
   * Milliseconds until all of it has to be answered, with whatever is asked again
   * and what a fork fetches; no limit unless given, and 300,000 for each request.
   * A request that the fork has made by then cannot be called back: a process ends
   * only once that is answered, or Hardhat's simulator has given it up.
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
   * The engine that executes it. Default: the first that can, of
   * `simulateV1` (one `eth_simulateV1`), `call` (one `eth_call` with code at the
   * sender's address), `fork` (in this process). With `hardfork` it is the fork;
   * in process it is the network itself, which needs no engine.
   */
  readonly engine?: HttpEngine | undefined;
}

/** A settlement to simulate. */
export interface SimulationRequest extends WatchedSubjects {
  readonly sender: string;
  /** Gas limit; as much as a block has room for unless given. */
  readonly gas?: bigint | undefined;
  readonly hardfork?: string | undefined;
  /** Those that may be asked, in this order. */
  readonly engines?: readonly HttpEngine[];
  /** Price of a unit of gas, in wei. Default: the price that a settlement would pay. */
  readonly pricePerGas?: bigint;
}

/** Orders that one request reads before and after. */
const MOST_ORDERS = 400;

/** Checks the options, before any request. */
export function checkOptions(
  { connection: { networkConfig }, networkName }: VaultHost,
  options: SimulateSettleAllOptions,
): Omit<SimulationRequest, "sender"> & { readonly sender?: string } {
  const { as, orders = [], tokens = [], gas, hardfork } = options;
  checkTime(options.atTime);
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
    ...(as === undefined ? {} : { sender: parseAddress(as, "as") }),
    orderIDs,
    tokens: [...new Set(tokens.map((token) => parseAddress(token, "tokens")))],
    hardfork,
    engines: chooseEngines(options),
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
  const chosen = engine ?? (hardfork === undefined ? undefined : "fork");
  if (hardfork !== undefined && chosen !== "fork") {
    throw invalidArgument(
      "hardfork",
      `only a fork executes by rules that one chooses, not engine ${chosen}`,
    );
  }
  return chosen === undefined ? httpEngines : [chosen];
}
