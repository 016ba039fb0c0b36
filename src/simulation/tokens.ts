import { Buffer } from "node:buffer";

import { AbiCoder, dataLength, isHexString } from "ethers";

import { checksumAddress } from "../client/inputs.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord, listOf } from "../json.js";
import type { Address } from "../protocol/index.js";
import { callContract } from "../rpc/calls.js";
import { framesOf } from "../rpc/traces.js";
import type { BalanceChange, TokenDescription, Transfer } from "./types.js";

/** Replaces a token's address for the chain's own currency. */
export const NATIVE = "native";

/** `Transfer(address,address,uint256)` of ERC-20. */
const TRANSFER_TOPIC =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Address of the logs of native transfers in `eth_simulateV1`. */
const NATIVE_LOG_ADDRESS = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

/**
 * Finds the ERC-20 transfers in a node's logs. Skips ERC-721, whose event has an id as
 * its fourth topic instead of an amount as data.
 *
 * @returns Undefined if the value is no list of logs.
 */
export function transfersIn(logs: unknown): readonly Transfer[] | undefined {
  if (!Array.isArray(logs)) {
    return undefined;
  }
  const transfers: Transfer[] = [];
  for (const log of logs) {
    const { address, topics, data } = asRecord(log);
    if (
      !isHexString(address, 20) ||
      !Array.isArray(topics) ||
      !topics.every((topic): topic is string => isHexString(topic, 32)) ||
      !isHexString(data, true)
    ) {
      return undefined;
    }
    const [topic, from, to, ...more] = topics;
    if (
      topic?.toLowerCase() === TRANSFER_TOPIC &&
      from !== undefined &&
      to !== undefined &&
      more.length === 0 &&
      isHexString(data, 32)
    ) {
      const isNative = address.toLowerCase() === NATIVE_LOG_ADDRESS;
      transfers.push({
        token: isNative ? NATIVE : toAddress(address),
        from: toAddress(from),
        to: toAddress(to),
        amount: BigInt(data),
      });
    }
  }
  return transfers;
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

/** Reads symbols and decimals; skips duplicates and `native`. */
export async function describeTokens(
  vault: VaultHost,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, TokenDescription>> {
  const { from } = vault.readContext({});
  const ask = async (to: string, data: string): Promise<string> => {
    const answer = await callContract(
      vault.rpc,
      { from, to, data },
      "latest",
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
    const described = {
      symbol: parseSymbol(symbol, (text) => vault.rpc.redactor.hide(text)),
      decimals: isNumber ? Number(decimals) : null,
    };
    return [address, described] as const;
  };
  const addresses = new Set(tokens.filter((address) => address !== NATIVE));
  return new Map(await Promise.all([...addresses].map(describe)));
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

/** What a settlement leaves in a guard, from which nobody can take it. */
export interface Kept {
  /** ERC-20 tokens by their events, which the guard can forward if they are named. */
  readonly tokens: readonly Address[];
  /** What it cannot forward: tokens of ERC-721 and ERC-1155, and silent ones. */
  readonly others: readonly string[];
}

/** @param balances Those that were read. */
export function keptBy(
  guard: Address,
  {
    transfers,
    logs,
  }: {
    readonly transfers: readonly Transfer[];
    /** As the node has them. */
    readonly logs: unknown;
  },
  balances: readonly BalanceChange[],
): Kept {
  const gains = new Map<Address, bigint>();
  for (const { token, from, to, amount } of transfers) {
    if (token !== NATIVE) {
      const gain =
        (to === guard ? amount : 0n) - (from === guard ? amount : 0n);
      gains.set(token, (gains.get(token) ?? 0n) + gain);
    }
  }
  const silent: string[] = [];
  for (const { account, token, before, after } of balances) {
    if (account === guard && token !== NATIVE) {
      if (after > before && (gains.get(token) ?? 0n) <= 0n) {
        silent.push(`${token} (a token without a transfer event)`);
      }
      gains.set(token, after - before);
    }
  }
  const tokens = [...gains].filter(([, gain]) => gain > 0n);
  const isSilent = (token: string): boolean =>
    silent.some((one) => one.startsWith(token));
  return {
    tokens: tokens.map(([token]) => token).filter((token) => !isSilent(token)),
    others: [...silent, ...itemsTo(guard, logs)],
  };
}

/** Events of ERC-721 and ERC-1155, and the topic that names the receiver. */
const itemEvents: Readonly<
  Record<string, readonly [place: number, of: string]>
> = {
  [TRANSFER_TOPIC]: [2, "ERC-721"],
  // TransferSingle and TransferBatch.
  "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62": [
    3,
    "ERC-1155",
  ],
  "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb": [
    3,
    "ERC-1155",
  ],
};

/** The contracts whose items an account receives. */
function itemsTo(receiver: Address, logs: unknown): readonly string[] {
  const found = listOf(logs).flatMap((log) => {
    const { address, topics } = asRecord(log);
    const words = listOf(topics).map(String);
    const [place, of] = itemEvents[String(words[0]).toLowerCase()] ?? [];
    return place !== undefined &&
      words.length === 4 &&
      toAddress(String(words[place])) === receiver
      ? [`${toAddress(String(address))} (${of})`]
      : [];
  });
  return [...new Set(found)];
}
