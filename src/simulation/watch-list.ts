import { decodeOrThrow, encodeCall } from "../client/codec.js";
import type { LocatedAddress } from "../client/addresses.js";
import { absentContract, failedReading } from "../client/failed-reading.js";
import { parseFacts } from "../client/lens/facts.js";
import type { LensFacts } from "../client/lens/facts.js";
import type { ReadCall } from "../client/lens/lens.js";
import { checksumAddress } from "../client/inputs.js";
import { hexWord } from "../client/words.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { contractRoleNames, standaloneQueries } from "../protocol/index.js";
import type { Address, ContractRole } from "../protocol/index.js";
import type { CallResult } from "../rpc/calls.js";
import type { Balance, Readings } from "./compare-readings.js";
import type { Watched } from "./engines/engine.js";
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
}

/** One read, before and after the settlement by the same item. */
interface WatchedRead extends ReadCall {
  readonly decode: (answer: CallResult, facts: LensFacts) => Decoded;
}

type Decoded = { readonly name: string; readonly value: unknown } | Balance;

/** Reads before and after a settlement. */
export interface WatchList extends Watched {
  /** Orders to read; none is if their contract is not known. */
  readonly orderIDs: readonly bigint[];
  /** Readings of known contracts, orders last; then the balances of tokens. */
  readonly reads: readonly WatchedRead[];
}

export interface ChainState extends LensFacts {
  readonly readings: Readings;
  readonly balances: readonly Balance[];
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
  network: string,
  contracts: readonly KnownContract[],
  sender: Address,
  { orderIDs = [], tokens = [] }: WatchedSubjects,
): WatchList {
  const orders = orderIDs.map((orderID) => ({
    operation: "getOrderInfo" as const,
    args: [orderID],
    path: ["orders", String(orderID)],
  }));
  const readings = [...standaloneQueries, ...orders].flatMap(
    ({ operation, args, path }) => {
      const call = encodeCall(operation, args);
      const target = contracts.find(({ role }) => role === call.role);
      if (target === undefined) {
        return [];
      }
      const { address } = target;
      const name = path.join(".");
      const decode: WatchedRead["decode"] = (answer, facts) => {
        const lacksCode = accountIn(facts, address).codeSize === 0n;
        try {
          const answered = { call, target, network, answer, lacksCode };
          return { name, value: decodeOrThrow(answered) };
        } catch (error) {
          return { name, value: failedReading(error) };
        }
      };
      return [{ target: address, data: call.data, decode }];
    },
  );
  const addresses = contracts.map(({ address }) => address);
  const accounts = [...new Set([sender, ...addresses])];
  const balances = accounts.flatMap((account) =>
    tokens
      .map((given) => checksumAddress(given))
      .map((token) => ({
        ...balanceCall(token, account),
        decode: (answer: CallResult) => {
          const amount = decodeBalance(answer, token, network);
          return { account, token, amount };
        },
      })),
  );
  return { accounts, orderIDs, reads: [...readings, ...balances] };
}

/** `balanceOf` of an ERC-20 contract. */
export function balanceCall(token: string, account: string): ReadCall {
  // For dozens of calls, ethers' coder takes as long as the node's answer.
  return { target: token, data: `${BALANCE_OF}${hexWord(account)}` };
}

/**
 * Decodes what an engine reads: the lens' facts, then the reads of the list in its order.
 *
 * @param surplus Wei that the first account has too much, because of the fee.
 */
export function decodeState(
  { rpc }: VaultHost,
  { accounts, reads }: WatchList,
  [answerOfLens, ...answers]: readonly CallResult[],
  surplus = 0n,
): ChainState {
  const found = parseFacts(answerOfLens, accounts);
  if (found === undefined) {
    // The lens returns it if the node applies state overrides.
    throw rpc.parser("eth_call").invalid("no native balance");
  }
  const facts = {
    ...found,
    accounts: new Map(
      [...found.accounts].map(([account, { balance, codeSize }], index) => [
        account,
        { balance: index === 0 ? balance - surplus : balance, codeSize },
      ]),
    ),
  };
  const decoded = reads.map(({ decode }, index) => {
    const answer = answers[index];
    assertInvariant(answer !== undefined, "a read without an answer");
    return decode(answer, facts);
  });
  const readings = decoded.filter((one) => "name" in one);
  const ofTokens = decoded.filter((one) => "token" in one);
  return {
    ...facts,
    readings: new Map(readings.map(({ name, value }) => [name, value])),
    balances: accounts.flatMap((account) => [
      { account, token: NATIVE, amount: accountIn(facts, account).balance },
      ...ofTokens.filter((one) => one.account === account),
    ]),
  };
}

/** Balance and code of a watched account, whose address has its checksum. */
export function accountIn(
  { accounts }: Pick<LensFacts, "accounts">,
  address: string,
): { readonly balance: bigint; readonly codeSize: bigint } {
  const found = accounts.get(address);
  assertInvariant(found !== undefined, `${address} is not watched`);
  return found;
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
