import { Buffer } from "node:buffer";

import { AbiCoder, dataLength } from "ethers";

import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { NATIVE } from "./transfers.js";

/** A token's own words, to be escaped. */
export interface TokenDescription {
  /** Null if the token has none. */
  readonly symbol: string | null;
  readonly decimals: number | null;
}

const SYMBOL = "0x95d89b41";
const DECIMALS = "0x313ce567";

/** No amount has more digits than a uint256. */
const MOST_DECIMALS = 77n;

const LONGEST_SYMBOL = 32;

/**
 * Asks tokens for their symbols and decimals.
 *
 * @param tokens Addresses, or `native`, which is none; each is asked once.
 */
export async function describeTokens(
  vault: VaultHost,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, TokenDescription>> {
  const { from } = vault.readContext({});
  const ask = async (to: string, data: string): Promise<string> => {
    const answer = await vault.rpc
      .call({ from, to, data }, "latest")
      .catch(fallbackTo(undefined));
    return answer !== undefined && "data" in answer
      ? `0x${answer.data.toString("hex")}`
      : "0x";
  };
  const addresses = new Set(tokens.filter((address) => address !== NATIVE));
  const described = [...addresses].map(async (address) => {
    const [symbol, decimals] = await Promise.all([
      ask(address, SYMBOL),
      ask(address, DECIMALS),
    ]);
    const isNumber =
      dataLength(decimals) === 32 && BigInt(decimals) <= MOST_DECIMALS;
    return [
      address,
      {
        symbol: parseSymbol(symbol),
        decimals: isNumber ? Number(decimals) : null,
      },
    ] as const;
  });
  return new Map(await Promise.all(described));
}

/** Some old tokens return 32 bytes in place of a string. */
function parseSymbol(data: string): string | null {
  try {
    const bytes: unknown =
      dataLength(data) === 32
        ? data
        : AbiCoder.defaultAbiCoder().decode(["bytes"], data)[0];
    // What is not UTF-8 becomes U+FFFD.
    const symbol = Buffer.from(String(bytes).slice(2), "hex")
      .toString("utf8")
      .replace(/\0+$/u, "")
      .slice(0, LONGEST_SYMBOL);
    return symbol === "" ? null : symbol;
  } catch {
    return null;
  }
}
