import { dataSlice, getAddress, id } from "ethers";

import { lensInterface, readBlock } from "./lens.js";
import type { ExecutedBlock, ReadCall } from "./lens.js";
import type { CallResult } from "../../rpc/calls.js";
import { WORD, hexWord, readWord } from "../words.js";

/** An unused address: the lens replaces no account there. */
export const NOBODYS_ADDRESS = getAddress(
  dataSlice(id("hardhat-vault/VaultLens"), 12),
);

const FACTS_HEADER = 4 * WORD;

const FACTS_OF = lensInterface.getFunction("factsOf")?.selector;
const LEND = lensInterface.getFunction("lend")?.selector;

/** Reads the block that the lens runs in, and balance and code of accounts. */
export function factsCall(lens: string, accounts: readonly string[]): ReadCall {
  const words = [WORD, accounts.length, ...accounts].map(hexWord);
  return { target: lens, data: [FACTS_OF, ...words].join("") };
}

/** @param needed Wei of the lens, for an account that has less, or has code. */
export function lendCall(
  lens: string,
  account: string,
  needed: bigint,
): ReadCall {
  const words = [account, needed].map(hexWord);
  return { target: lens, data: [LEND, ...words].join("") };
}

export interface LensFacts {
  readonly block: ExecutedBlock & { readonly baseFee: bigint };
  /** By address; balances are in wei. */
  readonly accounts: ReadonlyMap<
    string,
    { readonly balance: bigint; readonly codeSize: bigint }
  >;
}

/**
 * @param accounts The accounts given to {@link factsCall}.
 * @returns Undefined if `factsOf` returns something else.
 */
export function parseFacts(
  answer: CallResult | undefined,
  accounts: readonly string[],
): LensFacts | undefined {
  if (
    answer === undefined ||
    "reverted" in answer ||
    answer.data.length !== FACTS_HEADER + accounts.length * 2 * WORD
  ) {
    return undefined;
  }
  const { data } = answer;
  const block = readBlock(data, 0);
  if (block === undefined) {
    return undefined;
  }
  const facts = accounts.map((account, place) => {
    const offset = FACTS_HEADER + place * 2 * WORD;
    const codeSize = readWord(data, offset + WORD);
    return [account, { balance: readWord(data, offset), codeSize }] as const;
  });
  return {
    block: { ...block, baseFee: readWord(data, 3 * WORD) },
    accounts: new Map(facts),
  };
}
