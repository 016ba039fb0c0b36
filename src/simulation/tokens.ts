import { Buffer } from "node:buffer";

import { isHexString } from "ethers";

import { checksumAddress } from "../client/inputs.js";
import { WORD, readSmallWord, readWord } from "../client/words.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { Address } from "../protocol/index.js";
import type { PinnedBlock } from "../rpc/blocks.js";
import { callContract } from "../rpc/calls.js";
import { readOnBranch } from "../rpc/blocks.js";
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

/** The largest uint256 is about 10 ** 77. */
const MOST_DECIMALS = 77n;

const LONGEST_SYMBOL = 32;

/**
 * Reads symbols and decimals at a block; skips duplicates and `native`.
 *
 * @throws VaultError also if the node does not answer: that says nothing about a token
 */
export async function describeTokens(
  vault: VaultHost,
  tokens: readonly string[],
  block: PinnedBlock,
): Promise<ReadonlyMap<string, TokenDescription>> {
  const { rpc } = vault;
  const { from } = vault.readContext({});
  const ask = async (to: string, data: string): Promise<Buffer> => {
    const call = { from, to, data };
    const answer = await callContract(rpc, call, block).catch(
      fallbackTo(
        undefined,
        (error) =>
          error.code === "VAULT_RPC_ERROR" ||
          error.code === "VAULT_RPC_INVALID_RESPONSE",
      ),
    );
    return answer !== undefined && "data" in answer
      ? answer.data
      : Buffer.alloc(0);
  };
  const describe = async (address: string) => {
    const [symbol, decimals] = await Promise.all([
      ask(address, "0x95d89b41"),
      ask(address, "0x313ce567"),
    ]);
    const number = decimals.length === WORD ? readWord(decimals, 0) : undefined;
    const isNumber = number !== undefined && number <= MOST_DECIMALS;
    const shown = rpc.redactor.hide(textIn(symbol)).slice(0, LONGEST_SYMBOL);
    const found = {
      symbol: shown === "" ? null : shown,
      decimals: isNumber ? Number(number) : null,
    };
    return [address, found] as const;
  };
  const addresses = new Set(tokens.filter((address) => address !== NATIVE));
  return addresses.size === 0
    ? new Map()
    : await readOnBranch(
        rpc,
        block,
        async () => new Map(await Promise.all([...addresses].map(describe))),
      );
}

/** Some old tokens return bytes32 instead of a string. */
function textIn(data: Buffer): string {
  const length = data.length > 2 * WORD ? readSmallWord(data, WORD) : undefined;
  const bytes =
    data.length === WORD
      ? data
      : data.subarray(2 * WORD, 2 * WORD + (length ?? 0));
  return bytes.toString("utf8").replace(/\0+$/u, "");
}
