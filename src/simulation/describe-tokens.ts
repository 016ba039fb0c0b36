import { Buffer } from "node:buffer";

import { Interface, isHexString } from "ethers";

import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { NATIVE } from "./transfers.js";
import type { Simulation, Transfer } from "./types.js";

/** What a token says of itself: its own words, to be escaped. */
export interface TokenDescription {
  /** Null if the token has none. */
  readonly symbol: string | null;
  readonly decimals: number | null;
}

/** A simulation for a JSON document, each transfer with its token's own words. */
export function describeTransfers<Found extends Simulation>(
  simulation: Found,
  tokens: ReadonlyMap<string, TokenDescription>,
): Omit<Found, "transfers"> & {
  readonly transfers: ReadonlyArray<Transfer & TokenDescription> | null;
} {
  const none = { symbol: null, decimals: null };
  return {
    ...simulation,
    transfers:
      simulation.transfers?.map((transfer) => ({
        ...transfer,
        ...(tokens.get(transfer.token) ?? none),
      })) ?? null,
  };
}

const token = new Interface([
  "function symbol() view returns (bytes)",
  "function decimals() view returns (uint256)",
]);

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
  const ask = async (to: string, method: string) =>
    await vault.rpc
      .call({ from, to, data: token.encodeFunctionData(method) }, "latest")
      .then(
        (answer) =>
          "data" in answer ? `0x${answer.data.toString("hex")}` : undefined,
        fallbackTo(undefined),
      );
  const addresses = new Set(tokens.filter((address) => address !== NATIVE));
  const described = [...addresses].map(async (address) => {
    const [symbol, decimals] = await Promise.all([
      ask(address, "symbol").then(parseSymbol),
      ask(address, "decimals").then(parseDecimals),
    ]);
    return [address, { symbol, decimals }] as const;
  });
  return new Map(await Promise.all(described));
}

/**
 * Some old tokens answer 32 bytes in place of a string. What is not UTF-8
 * becomes U+FFFD.
 */
function parseSymbol(answer: string | undefined): string | null {
  if (!isHexString(answer, true)) {
    return null;
  }
  try {
    const bytes: unknown = isHexString(answer, 32)
      ? answer
      : token.decodeFunctionResult("symbol", answer)[0];
    const symbol = Buffer.from(String(bytes).slice(2), "hex")
      .toString("utf8")
      .replace(/\0+$/u, "");
    return symbol === "" ? null : symbol.slice(0, LONGEST_SYMBOL);
  } catch {
    return null;
  }
}

function parseDecimals(answer: string | undefined): number | null {
  return isHexString(answer, 32) && BigInt(answer) <= MOST_DECIMALS
    ? Number(answer)
    : null;
}
