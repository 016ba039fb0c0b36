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

/** Reads the block that the lens runs in, and balance and code of accounts. */
export function factsCall(lens: string, accounts: readonly string[]): ReadCall {
  const words = [WORD, accounts.length, ...accounts].map(hexWord);
  return { target: lens, data: [FACTS_OF, ...words].join("") };
}

export interface LensFacts {
  readonly block: ExecutedBlock & { readonly baseFee: bigint };
  /** By address; balances are in wei. */
  readonly accounts: ReadonlyMap<
    string,
    { readonly balance: bigint; readonly hasCode: boolean }
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
    const hasCode = readWord(data, offset + WORD) > 0n;
    return [account, { balance: readWord(data, offset), hasCode }] as const;
  });
  return {
    block: { ...block, baseFee: readWord(data, 3 * WORD) },
    accounts: new Map(facts),
  };
}
