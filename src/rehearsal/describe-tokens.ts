import { Buffer } from "node:buffer";

import { Interface, isHexString } from "ethers";

import { tryLens } from "../client/lens/lens.js";
import { entryAnswer } from "../client/lens/lens-answer.js";
import { otherwise } from "../errors.js";
import type { VaultHost } from "../host.js";
import { RevertedCall } from "../rpc/request.js";
import { NATIVE } from "./transfers.js";
import type { Simulation, Transfer } from "./types.js";

/** What a token says of itself: its own words, to be escaped. */
export interface TokenDescription {
  /** Undefined where it does not tell. */
  readonly symbol: string | undefined;
  readonly decimals: number | undefined;
}

/** A transfer, and what its token says of itself. */
export interface DescribedTransfer extends Transfer {
  /** Null where the token does not tell, and for native currency. */
  readonly symbol: string | null;
  readonly decimals: number | null;
}

/** What a JSON document says of a simulation: each transfer by itself. */
export function describeTransfers<Found extends Simulation>(
  simulation: Found,
  tokens: ReadonlyMap<string, TokenDescription>,
): Omit<Found, "transfers"> & {
  readonly transfers: readonly DescribedTransfer[] | null;
} {
  return {
    ...simulation,
    transfers:
      simulation.transfers?.map((transfer) => {
        const { symbol = null, decimals = null } =
          tokens.get(transfer.token) ?? {};
        return { ...transfer, symbol, decimals };
      }) ?? null,
  };
}

const token = new Interface([
  "function symbol() view returns (bytes)",
  "function decimals() view returns (uint256)",
]);
const calls = ["symbol", "decimals"].map((name) =>
  token.encodeFunctionData(name),
);

/** No amount has more digits than a uint256. */
const MOST_DECIMALS = 77n;

const LONGEST_SYMBOL = 32;

/**
 * Asks tokens for their symbols and decimals, all of them in one request where
 * the node can.
 *
 * @param tokens Addresses, or `native`, which is none; each is asked once.
 */
export async function describeTokens(
  vault: VaultHost,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, TokenDescription>> {
  const addresses = [...new Set(tokens)].filter(
    (address) => address !== NATIVE,
  );
  const reads = addresses.flatMap((target) =>
    calls.map((data) => ({ target, data })),
  );
  if (reads.length === 0) {
    return new Map();
  }
  const context = vault.readContext({});
  const answer = await tryLens(context, reads);
  const answers =
    answer?.entries.length === reads.length
      ? answer.entries.map((entry) => {
          const found = entryAnswer(answer, entry);
          return found instanceof RevertedCall
            ? "0x"
            : `0x${found.toString("hex")}`;
        })
      : await Promise.all(
          reads.map(
            async ({ target: to, data }) =>
              await vault.chain
                .request("eth_call", [
                  { from: context.from, to, data },
                  "latest",
                ])
                .catch(otherwise("0x")),
          ),
        );
  return new Map(
    addresses.map((address, index) => [
      address,
      {
        symbol: parseSymbol(answers[2 * index]),
        decimals: parseDecimals(answers[2 * index + 1]),
      },
    ]),
  );
}

/**
 * Some old tokens answer 32 bytes in place of a string. What is not UTF-8
 * becomes U+FFFD.
 */
function parseSymbol(answer: unknown): string | undefined {
  if (!isHexString(answer, true)) {
    return undefined;
  }
  try {
    const bytes: unknown = isHexString(answer, 32)
      ? answer
      : token.decodeFunctionResult("symbol", answer)[0];
    const symbol = Buffer.from(String(bytes).slice(2), "hex")
      .toString("utf8")
      .replace(/\0+$/u, "");
    return symbol === "" ? undefined : symbol.slice(0, LONGEST_SYMBOL);
  } catch {
    return undefined;
  }
}

function parseDecimals(answer: unknown): number | undefined {
  return isHexString(answer, 32) && BigInt(answer) <= MOST_DECIMALS
    ? Number(answer)
    : undefined;
}
