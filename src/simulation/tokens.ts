import { Buffer } from "node:buffer";

import { isHexString } from "ethers";

import {
  addressAt,
  WORD,
  hexWord,
  readSmallWord,
  readWord,
} from "../client/codec.js";
import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { Address } from "../protocol/index.js";
import { readOnBranch } from "../rpc/blocks.js";
import type { PinnedBlock } from "../rpc/blocks.js";
import { callContract } from "../rpc/chain.js";
import { framesOf } from "../rpc/transactions.js";
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
  /** Topics and data, in lower case. */
  readonly topics: readonly string[];
  readonly data: string;
}

/** @returns Undefined if the value is no list of a node's logs. */
function eventsIn(logs: unknown): readonly Event[] | undefined {
  if (!Array.isArray(logs)) {
    return undefined;
  }
  const events = logs.map((log): Event | undefined => {
    const { address, topics, data } = asRecord(log);
    return isHexString(address, 20) &&
      Array.isArray(topics) &&
      topics.every((topic): topic is string => isHexString(topic, 32)) &&
      isHexString(data, true)
      ? {
          contract:
            address.toLowerCase() === NATIVE_LOG_ADDRESS
              ? NATIVE
              : toAddress(address),
          topics: topics.map((topic) => topic.toLowerCase()),
          data: data.toLowerCase(),
        }
      : undefined;
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
  return eventsIn(logs)?.flatMap(({ contract: token, topics, data }) => {
    const [name, from, to, ...more] = topics;
    return name !== TRANSFER_TOPIC ||
      from === undefined ||
      to === undefined ||
      more.length > 0 ||
      !isHexString(data, WORD)
      ? []
      : {
          token,
          from: toAddress(from),
          to: toAddress(to),
          amount: BigInt(data),
        };
  });
}

/** Finds the contracts with an event that names an account: it may have got a token. */
export function contractsNaming(
  account: Address,
  logs: unknown,
): readonly Address[] {
  const found = (eventsIn(logs) ?? []).flatMap(({ contract, topics, data }) =>
    contract !== NATIVE && [...topics, data].join("").includes(hexWord(account))
      ? contract
      : [],
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
const movesNothing = /^(?:DELEGATECALL|STATICCALL|CALLCODE)$/u;

/** Finds the native transfers in a trace of Geth's `callTracer`. */
export function nativeTransfersOf(trace: unknown): readonly Transfer[] {
  return framesOf(trace)
    .filter(
      ({ type, from, to, value, isUndone }) =>
        !isUndone &&
        value > 0n &&
        !movesNothing.test(type) &&
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
  return addressAt(Buffer.from(hex.slice(-40), "hex"), 0);
}

/** The largest uint256 is about 10 ** 77. */
const MOST_DECIMALS = 77n;

const LONGEST_SYMBOL = 32;

/**
 * Reads symbols and decimals at a block; skips duplicates and `native`.
 *
 * @throws VaultError also if the node does not answer: that says nothing about a token
 */
export async function readTokens(
  vault: VaultHost,
  tokens: readonly string[],
  block: PinnedBlock,
): Promise<ReadonlyMap<string, TokenDescription>> {
  const { rpc } = vault;
  const { from } = vault.readContext({});
  const isRefused = ({ code }: VaultError): boolean =>
    code === "VAULT_RPC_ERROR" || code === "VAULT_RPC_INVALID_RESPONSE";
  const ask = async (to: string, data: string): Promise<Buffer> => {
    const answer = await callContract(rpc, { from, to, data }, block).catch(
      fallbackTo(undefined, isRefused),
    );
    return answer !== undefined && "data" in answer
      ? answer.data
      : Buffer.alloc(0);
  };
  const readOne = async (address: string) => {
    const [text, number] = await Promise.all([
      ask(address, "0x95d89b41"),
      ask(address, "0x313ce567"),
    ]);
    const length = text.length > 2 * WORD ? readSmallWord(text, WORD) : 0;
    const bytes = text.subarray(2 * WORD).subarray(0, length ?? 0);
    const symbol = rpc.redactor.hide(bytes.toString("utf8"));
    const decimals = number.length === WORD ? readWord(number, 0) : undefined;
    const isKnown = decimals !== undefined && decimals <= MOST_DECIMALS;
    const found = {
      symbol: symbol === "" ? null : symbol.slice(0, LONGEST_SYMBOL),
      decimals: isKnown ? Number(decimals) : null,
    };
    return [address, found] as const;
  };
  const addresses = [...new Set(tokens)].filter((one) => one !== NATIVE);
  const readAll = async () =>
    new Map(await Promise.all(addresses.map(readOne)));
  return addresses.length === 0
    ? new Map()
    : await readOnBranch(rpc, block, readAll);
}
