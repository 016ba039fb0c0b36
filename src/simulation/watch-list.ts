import { decodeAnswer } from "../client/answer.js";
import type { LocatedAddress } from "../client/addresses.js";
import type { EncodedCall } from "../client/codec.js";
import { absentContract, failedReading } from "../client/failed-reading.js";
import { factsCall, parseFacts } from "../client/lens/simulation-lens.js";
import type { LensFacts } from "../client/lens/simulation-lens.js";
import type { ReadCall } from "../client/lens/lens.js";
import { hexWord } from "../client/lens/words.js";
import { prepareQuery } from "../client/snapshot.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { standaloneQueries } from "../protocol/index.js";
import type { Query } from "../protocol/index.js";
import { invalidResponse } from "../rpc/errors.js";
import type { CallResult } from "../rpc/rpc-client.js";
import type { ChainState } from "./compare-readings.js";
import { NATIVE } from "./transfers.js";

/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = "0x70a08231";

/** All that is read before and after a settlement. */
export interface WatchList {
  /** Those whose contract is known, orders last. */
  readonly readings: readonly WatchedReading[];
  /** Whose balances are read. */
  readonly accounts: readonly string[];
  /** ERC-20 contracts. */
  readonly tokens: readonly string[];
  /**
   * The accounts, and the contracts that are read or called, each once: whom
   * the lens is asked about.
   */
  readonly witnessed: readonly string[];
}

interface WatchedReading {
  /** As in `pools.public` or `orders.7`. */
  readonly name: string;
  readonly call: EncodedCall;
  readonly target: LocatedAddress;
}

/**
 * Finds out where everything that is watched is read.
 *
 * @param target The contract that is to settle.
 * @throws VaultError why a configured address cannot be used, as in
 * VAULT_INVALID_ADDRESS
 */
export async function makeWatchList(
  vault: VaultHost,
  target: LocatedAddress,
  {
    accounts,
    tokens,
    orderIDs,
  }: Pick<WatchList, "accounts" | "tokens"> & {
    readonly orderIDs: readonly bigint[];
  },
): Promise<WatchList> {
  const orders = orderIDs.map((orderID): Query => ({
    operation: "getOrderInfo",
    role: "trading",
    args: [orderID],
    path: ["orders", String(orderID)],
  }));
  const prepared = await Promise.all(
    [...standaloneQueries, ...orders].map(
      async (reading) => await prepareQuery(vault, reading),
    ),
  );
  const readings = prepared.flatMap((reading) => {
    if ("error" in reading) {
      absentContract(reading.error);
      return [];
    }
    const { path, call, target: located } = reading;
    return [{ name: path.join("."), call, target: located }];
  });
  const contracts = [target, ...readings.map((reading) => reading.target)];
  return {
    readings,
    accounts,
    tokens,
    witnessed: [
      ...new Set([...contracts.map(({ address }) => address), ...accounts]),
    ],
  };
}

/**
 * The calls that read all of it.
 *
 * @param lens Where code is that knows native balances and sizes of code.
 */
export function readsOf(
  { readings, accounts, tokens, witnessed }: WatchList,
  lens: string,
): readonly ReadCall[] {
  return [
    factsCall(lens, witnessed),
    ...readings.map(({ call, target }) => ({
      target: target.address,
      data: call.data,
    })),
    ...accounts.flatMap((account) =>
      tokens.map((token) => ({
        target: token,
        // The general coder takes as long for dozens as the node for its answer.
        data: `${BALANCE_OF}${hexWord(account)}`,
      })),
    ),
  ];
}

/**
 * What the lens says, among the answers to {@link readsOf}.
 *
 * @returns Undefined if it was not the lens that answered.
 */
export function factsOf(
  { witnessed }: WatchList,
  [answer]: readonly CallResult[],
): LensFacts | undefined {
  return parseFacts(answer, witnessed);
}

/**
 * Decodes the answers.
 *
 * @param answers Those to {@link readsOf}.
 * @throws VaultError VAULT_NOT_A_TOKEN, VAULT_RPC_INVALID_RESPONSE
 */
export function decodeState(
  { networkName: network }: VaultHost,
  list: WatchList,
  answers: readonly CallResult[],
): ChainState {
  const facts = factsOf(list, answers);
  if (facts === undefined) {
    // Our own code says it, if the node lets it.
    throw invalidResponse(network, "eth_call", "no native balance");
  }
  const { readings, accounts, tokens } = list;
  const ofReadings = answers.slice(1);
  const ofTokens = ofReadings.slice(readings.length);
  return {
    facts,
    readings: new Map(
      readings.map(({ name, call, target }, index) => {
        const answer = ofReadings[index];
        assertInvariant(answer !== undefined, "a read without an answer");
        const hasCode = facts.accounts.get(target.address)?.hasCode !== false;
        try {
          const answered = { call, target, network, answer, hasCode };
          return [name, decodeAnswer(answered)] as const;
        } catch (error) {
          return [name, failedReading(error)] as const;
        }
      }),
    ),
    balances: accounts.flatMap((account, row) => {
      const native = facts.accounts.get(account);
      assertInvariant(native !== undefined, "an account without a balance");
      return [
        { account, token: NATIVE, amount: native.balance },
        ...tokens.map((token, column) => {
          const answer = ofTokens[row * tokens.length + column];
          return {
            account,
            token,
            amount: decodeBalance(answer, token, network),
          };
        }),
      ];
    }),
  };
}

function decodeBalance(
  answer: CallResult | undefined,
  token: string,
  network: string,
): bigint {
  const data = answer !== undefined && "data" in answer ? answer.data : null;
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
