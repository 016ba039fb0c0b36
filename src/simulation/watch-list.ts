import { decodeAnswer } from "../client/answer.js";
import type { LocatedAddress } from "../client/addresses.js";
import type { EncodedCall } from "../client/codec.js";
import { absentContract, failedReading } from "../client/failed-reading.js";
import { factsCall, parseFacts } from "../client/lens/simulation-lens.js";
import type { ReadCall } from "../client/lens/lens.js";
import type { LensFacts } from "../client/lens/simulation-lens.js";
import { hexWord } from "../client/words.js";
import { prepareQuery } from "../client/snapshot.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { standaloneQueries } from "../protocol/index.js";
import type { Query } from "../protocol/index.js";
import type { CallResult } from "../rpc/rpc-client.js";
import type { Balance, ChainState } from "./compare-readings.js";
import { NATIVE } from "./transfers.js";

/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = "0x70a08231";

/** Subjects to watch besides readings and native balances. */
export interface WatchedSubjects {
  readonly orderIDs?: readonly bigint[];
  /** ERC-20 contracts. */
  readonly tokens?: readonly string[];
}

/** All that is read before and after a settlement. */
export interface WatchList {
  /** Those whose contract is known, orders last. */
  readonly readings: ReadonlyArray<{
    /** As in `pools.public` or `orders.7`. */
    readonly name: string;
    readonly call: EncodedCall;
    readonly target: LocatedAddress;
  }>;
  readonly balances: ReadonlyArray<Omit<Balance, "amount">>;
  /** The accounts and contracts that the lens is asked about, each once. */
  readonly witnessed: readonly string[];
}

/**
 * Finds out where everything that is watched is read.
 *
 * @throws VaultError why a configured address cannot be used, as in
 * VAULT_INVALID_ADDRESS
 */
export async function makeWatchList(
  vault: VaultHost,
  target: LocatedAddress,
  accounts: readonly string[],
  { orderIDs = [], tokens = [] }: WatchedSubjects,
): Promise<WatchList> {
  const orders = orderIDs.map((orderID): Query => ({
    operation: "getOrderInfo",
    role: "trading",
    args: [orderID],
    path: ["orders", String(orderID)],
  }));
  const prepared = await Promise.all(
    [...standaloneQueries, ...orders].map(
      async (query) => await prepareQuery(vault, query),
    ),
  );
  const readings = prepared.flatMap((query) => {
    if ("error" in query) {
      absentContract(query.error);
      return [];
    }
    const { path, call, target: located } = query;
    return [{ name: path.join("."), call, target: located }];
  });
  const targets = [target, ...readings.map((reading) => reading.target)];
  return {
    readings,
    balances: accounts.flatMap((account) =>
      [NATIVE, ...tokens].map((token) => ({ account, token })),
    ),
    witnessed: [
      ...new Set([...targets.map(({ address }) => address), ...accounts]),
    ],
  };
}

/**
 * The calls that read all of it.
 *
 * @param lens Where code is that knows native balances and sizes of code.
 */
export function readsOf(
  { readings, balances, witnessed }: WatchList,
  lens: string,
): readonly ReadCall[] {
  return [
    factsCall(lens, witnessed),
    ...readings.map(({ call, target }) => ({
      target: target.address,
      data: call.data,
    })),
    ...balances
      .filter(({ token }) => token !== NATIVE)
      .map(({ account, token }) => ({
        target: token,
        // The general coder takes as long for dozens as the node for its answer.
        data: `${BALANCE_OF}${hexWord(account)}`,
      })),
  ];
}

/**
 * The facts among the results of {@link readsOf}.
 *
 * @returns Undefined if it was not the lens that answered.
 */
export function factsOf(
  { witnessed }: WatchList,
  [result]: readonly CallResult[],
): LensFacts | undefined {
  return parseFacts(result, witnessed);
}

/**
 * Decodes the results of {@link readsOf}.
 *
 * @throws VaultError VAULT_NOT_A_TOKEN, VAULT_RPC_INVALID_RESPONSE
 */
export function decodeState(
  { networkName: network, rpc }: VaultHost,
  list: WatchList,
  results: readonly CallResult[],
): ChainState {
  const facts = factsOf(list, results);
  if (facts === undefined) {
    // Our own code says it, if the node lets it.
    throw rpc.parser("eth_call").invalid("no native balance");
  }
  const others = results.slice(1).values();
  const take = (): CallResult => {
    const { value } = others.next();
    assertInvariant(value !== undefined, "a read without a result");
    return value;
  };
  const readings = list.readings.map(({ name, call, target }) => {
    const hasCode = facts.accounts.get(target.address)?.hasCode !== false;
    const answered = { call, target, network, answer: take(), hasCode };
    try {
      return [name, decodeAnswer(answered)] as const;
    } catch (error) {
      return [name, failedReading(error)] as const;
    }
  });
  const balances = list.balances.map(({ account, token }) => {
    const amount =
      token === NATIVE
        ? facts.accounts.get(account)?.balance
        : decodeBalance(take(), token, network);
    assertInvariant(amount !== undefined, "an account without a balance");
    return { account, token, amount };
  });
  return { facts, readings: new Map(readings), balances };
}

function decodeBalance(
  result: CallResult,
  token: string,
  network: string,
): bigint {
  const data = "data" in result ? result.data : null;
  if (data?.length === 32) {
    return BigInt(`0x${data.toString("hex")}`);
  }
  throw vaultError("VAULT_NOT_A_TOKEN", {
    token,
    network,
    problem:
      data === null
        ? "the call reverted"
        : data.length === 0
          ? "there is no code, or it returns nothing"
          : "it returns something else than one number",
  });
}
