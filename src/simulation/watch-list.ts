import { decodeAnswer, encodeCall } from "../client/codec.js";
import type { LocatedAddress } from "../client/addresses.js";
import type { EncodedCall } from "../client/codec.js";
import { absentContract, failedReading } from "../client/failed-reading.js";
import { factsCall, parseFacts } from "../client/lens/simulation-lens.js";
import type { ReadCall } from "../client/lens/lens.js";
import { hexWord } from "../client/words.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { contractRoleNames, standaloneQueries } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import type { CallResult } from "../rpc/calls.js";
import type { Balance, ChainState } from "./compare-readings.js";
import { NATIVE } from "./tokens.js";

/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = "0x70a08231";

export interface KnownContract extends LocatedAddress {
  readonly role: ContractRole;
}

/** Subjects in addition to readings and native balances. */
export interface WatchedSubjects {
  readonly orderIDs?: readonly bigint[];
  /** ERC-20 contracts. */
  readonly tokens?: readonly string[];
  /** Accounts whose balances are read, too. */
  readonly holders?: readonly string[];
}

/** Subjects to read before and after a settlement. */
export interface WatchList {
  /** Readings of known contracts, orders last. */
  readonly readings: ReadonlyArray<{
    /** Example: `pools.public`, `orders.7`. */
    readonly name: string;
    readonly call: EncodedCall;
    readonly target: LocatedAddress;
  }>;
  readonly sender: string;
  /** The sender and the contracts, each once. */
  readonly accounts: readonly string[];
  readonly balances: ReadonlyArray<Omit<Balance, "amount">>;
}

/** @throws VaultError if a configured address cannot be used */
export async function findContracts(
  vault: VaultHost,
): Promise<readonly KnownContract[]> {
  const found = await Promise.all(
    contractRoleNames.map(async (role) => {
      const located = await vault.addressOf(role).catch(absentContract);
      return { role, ...located };
    }),
  );
  return found.filter((contract) => "address" in contract);
}

/** Omits the readings of contracts that are not in `contracts`. */
export function makeWatchList(
  contracts: readonly KnownContract[],
  sender: string,
  { orderIDs = [], tokens = [], holders = [] }: WatchedSubjects,
): WatchList {
  const orders = orderIDs.map((orderID) => ({
    operation: "getOrderInfo" as const,
    args: [orderID],
    path: ["orders", String(orderID)],
  }));
  const readings = [...standaloneQueries, ...orders].flatMap((query) => {
    const call = encodeCall(query.operation, query.args);
    const located = contracts.find(({ role }) => role === call.role);
    return located === undefined
      ? []
      : [{ name: query.path.join("."), call, target: located }];
  });
  const addresses = contracts.map(({ address }) => address);
  const accounts = [...new Set([sender, ...addresses, ...holders])];
  const balances = accounts.flatMap((account) =>
    [NATIVE, ...tokens].map((token) => ({ account, token })),
  );
  return { readings, sender, accounts, balances };
}

/** @param lens Address with code that returns native balances and code sizes. */
export function readsOf(
  { readings, accounts, balances }: WatchList,
  lens: string,
): readonly ReadCall[] {
  return [
    factsCall(lens, accounts),
    ...readings.map(({ call, target }) => ({
      target: target.address,
      data: call.data,
    })),
    ...balances
      .filter(({ token }) => token !== NATIVE)
      .map(({ account, token }) => ({
        target: token,
        // For dozens of calls, ethers' coder takes as long as the node's answer.
        data: `${BALANCE_OF}${hexWord(account)}`,
      })),
  ];
}

/**
 * Decodes the results of {@link readsOf}.
 *
 * @param feePaid Wei that the sender paid for gas; added back to its balance.
 */
export function decodeState(
  { networkName: network, rpc }: VaultHost,
  list: WatchList,
  results: readonly CallResult[],
  feePaid = 0n,
): ChainState {
  const facts = parseFacts(results[0], list.accounts);
  if (facts === undefined) {
    // The lens returns it if the node applies state overrides.
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
    const { balance = 0n } = facts.accounts.get(account) ?? {};
    const amount =
      token !== NATIVE
        ? decodeBalance(take(), token, network)
        : account === list.sender
          ? balance + feePaid
          : balance;
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
  const problem =
    data === null
      ? "the call reverted"
      : data.length === 0
        ? "there is no code, or it returns nothing"
        : "it returns something else than one number";
  throw vaultError("VAULT_NOT_A_TOKEN", { token, network, problem });
}
