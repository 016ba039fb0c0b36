import { Buffer } from "node:buffer";

import { AbiCoder, dataLength, isHexString } from "ethers";

import { checksumAddress } from "../client/inputs.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { Address } from "../protocol/index.js";
import type { PinnedBlock } from "../rpc/block-id.js";
import { callContract } from "../rpc/calls.js";
import { readOnBranch } from "../rpc/pinned-block.js";
import { framesOf } from "../rpc/traces.js";
import type { TokenDescription, Transfer } from "./types.js";

/** Replaces a token's address for the chain's own currency. */
export const NATIVE = "native";

/** `Transfer(address,address,uint256)` of ERC-20 and ERC-721. */
const TRANSFER_TOPIC =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Address of the logs of native transfers in `eth_simulateV1`. */
const NATIVE_LOG_ADDRESS = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

interface Event {
  readonly contract: Address | typeof NATIVE;
  readonly isTransfer: boolean;
  /** Number of indexed arguments. */
  readonly indexed: number;
  /** Arguments, the indexed ones first, as 0x hex in lower case. */
  readonly words: readonly string[];
}

/** @returns Undefined if the value is no list of a node's logs. */
function eventsIn(logs: unknown): readonly Event[] | undefined {
  if (!Array.isArray(logs)) {
    return undefined;
  }
  const events = logs.map((log): Event | undefined => {
    const { address, topics, data } = asRecord(log);
    if (
      !isHexString(address, 20) ||
      !Array.isArray(topics) ||
      !topics.every((topic): topic is string => isHexString(topic, 32)) ||
      !isHexString(data, true)
    ) {
      return undefined;
    }
    const [name, ...indexed] = topics.map((topic) => topic.toLowerCase());
    const inData = data.slice(2).toLowerCase().match(/.{64}/gu) ?? [];
    const isNative = address.toLowerCase() === NATIVE_LOG_ADDRESS;
    return {
      contract: isNative ? NATIVE : toAddress(address),
      isTransfer: name === TRANSFER_TOPIC,
      indexed: indexed.length,
      words: [...indexed, ...inData.map((word) => `0x${word}`)],
    };
  });
  return events.every((event) => event !== undefined) ? events : undefined;
}

/**
 * Finds the ERC-20 transfers in a node's logs. Skips ERC-721, whose event has an id as
 * its third indexed argument instead of an amount as data.
 *
 * @returns Undefined if the value is no list of logs.
 */
export function transfersIn(logs: unknown): readonly Transfer[] | undefined {
  return eventsIn(logs)?.flatMap(({ contract, isTransfer, indexed, words }) => {
    const [from, to, amount, ...more] = words;
    return isTransfer &&
      indexed === 2 &&
      from !== undefined &&
      to !== undefined &&
      amount !== undefined &&
      more.length === 0
      ? [
          {
            token: contract,
            from: toAddress(from),
            to: toAddress(to),
            amount: BigInt(amount),
          },
        ]
      : [];
  });
}

const wordOf = (account: Address): string =>
  `0x${account.slice(2).toLowerCase().padStart(64, "0")}`;

/** Finds the contracts with an event that names an account: it may have got a token. */
export function contractsNaming(
  account: Address,
  logs: unknown,
): readonly Address[] {
  const found = (eventsIn(logs) ?? []).flatMap(({ contract, words }) =>
    contract !== NATIVE && words.includes(wordOf(account)) ? contract : [],
  );
  return [...new Set(found)];
}

/**
 * Sums what an account has gained of each token, by `Transfer` events with any number of
 * indexed arguments. If one is indexed, nobody knows which: then the account counts as the
 * receiver of something.
 */
export function gainsIn(
  account: Address,
  logs: unknown,
): ReadonlyMap<Address, bigint> {
  const gains = new Map<Address, bigint>();
  const own = wordOf(account);
  for (const { contract, isTransfer, indexed, words } of eventsIn(logs) ?? []) {
    const [from, to, value = "0x0"] = words;
    if (isTransfer && words.length === 3 && contract !== NATIVE) {
      // The last argument of ERC-721, whose are all indexed, is an id.
      const amount = indexed === 3 ? 1n : BigInt(value);
      const gain =
        indexed === 1
          ? BigInt(words.includes(own))
          : (to === own ? amount : 0n) - (from === own ? amount : 0n);
      gains.set(contract, (gains.get(contract) ?? 0n) + gain);
    }
  }
  return gains;
}

/** Wei that an account gains by these transfers, or loses. */
export function gainOf(
  account: string,
  transfers: readonly Transfer[],
): bigint {
  let gain = 0n;
  for (const { token, from, to, amount } of transfers) {
    if (token === NATIVE) {
      gain += (to === account ? amount : 0n) - (from === account ? amount : 0n);
    }
  }
  return gain;
}

/** Calls that run code in the caller's place, or without value. */
const movesNothing: ReadonlySet<string> = new Set([
  "DELEGATECALL",
  "STATICCALL",
  "CALLCODE",
]);

/** Finds the native transfers in a trace of Geth's `callTracer`. */
export function nativeTransfersOf(trace: unknown): readonly Transfer[] {
  return framesOf(trace)
    .filter(
      ({ type, from, to, value, isUndone }) =>
        !isUndone &&
        value > 0n &&
        !movesNothing.has(type) &&
        [from, to].every((account) => isHexString(account, 20)),
    )
    .map(({ from, to, value: amount }) => ({
      token: NATIVE,
      from: toAddress(from),
      to: toAddress(to),
      amount,
    }));
}

/** Ignores the case of a node's hex, which is no checksum. */
function toAddress(hex: string): Address {
  return checksumAddress(`0x${hex.slice(-40).toLowerCase()}`);
}

/** The selectors of `symbol()` and `decimals()`. */
const SYMBOL = "0x95d89b41";
const DECIMALS = "0x313ce567";

/** The largest uint256 is about 10 ** 77. */
const MOST_DECIMALS = 77n;

const LONGEST_SYMBOL = 32;

/** Reads symbols and decimals at a block; skips duplicates and `native`. */
export async function describeTokens(
  vault: VaultHost,
  tokens: readonly string[],
  block: PinnedBlock,
): Promise<ReadonlyMap<string, TokenDescription>> {
  const { from } = vault.readContext({});
  const ask = async (to: string, data: string): Promise<string> => {
    const answer = await callContract(
      vault.rpc,
      { from, to, data },
      block,
    ).catch(fallbackTo(undefined));
    return answer !== undefined && "data" in answer
      ? `0x${answer.data.toString("hex")}`
      : "0x";
  };
  const describe = async (address: string) => {
    const [symbol, decimals] = await Promise.all([
      ask(address, SYMBOL),
      ask(address, DECIMALS),
    ]);
    const isNumber =
      dataLength(decimals) === 32 && BigInt(decimals) <= MOST_DECIMALS;
    const found = {
      symbol: parseSymbol(symbol, (text) => vault.rpc.redactor.hide(text)),
      decimals: isNumber ? Number(decimals) : null,
    };
    return [address, found] as const;
  };
  const addresses = new Set(tokens.filter((address) => address !== NATIVE));
  return addresses.size === 0
    ? new Map()
    : await readOnBranch(
        vault.rpc,
        block,
        async () => new Map(await Promise.all([...addresses].map(describe))),
      );
}

/** Some old tokens return bytes32 instead of a string. */
function parseSymbol(
  data: string,
  hide: (text: string) => string,
): string | null {
  try {
    const bytes: unknown =
      dataLength(data) === 32
        ? data
        : AbiCoder.defaultAbiCoder().decode(["bytes"], data)[0];
    // Invalid UTF-8 becomes U+FFFD.
    const text = Buffer.from(String(bytes).slice(2), "hex")
      .toString("utf8")
      .replace(/\0+$/u, "");
    const symbol = hide(text).slice(0, LONGEST_SYMBOL);
    return symbol === "" ? null : symbol;
  } catch {
    return null;
  }
}
