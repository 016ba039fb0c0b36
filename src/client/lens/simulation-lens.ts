import { Buffer } from "node:buffer";

import { Interface, dataSlice, getAddress, id } from "ethers";

import { SimulationLensArtifact } from "./artifact.js";
import type { ExecutedBlock, ReadCall } from "./lens.js";
import { entryAnswer, parseLensEntries, readBlock } from "./lens.js";
import type { CallResult } from "../../rpc/calls.js";
import { WORD, hexWord, readWord, viewOf } from "../words.js";

const lensInterface = new Interface(SimulationLensArtifact.abi);

export const simulationLensCode: string =
  SimulationLensArtifact.deployedBytecode;

/** An unused address: the lens replaces no account there. */
export const NOBODYS_ADDRESS = getAddress(
  dataSlice(id("hardhat-vault/SimulationLens"), 12),
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
  answer: LensReads[number],
  accounts: readonly string[],
): LensFacts | undefined {
  if (
    answer === undefined ||
    "reverted" in answer ||
    answer.data.length !== FACTS_HEADER + accounts.length * 2 * WORD
  ) {
    return undefined;
  }
  const view = viewOf(answer.data);
  const block = readBlock(answer.data, 0);
  if (block === undefined) {
    return undefined;
  }
  const facts = accounts.map((account, place) => {
    const offset = FACTS_HEADER + place * 2 * WORD;
    const hasCode = readWord(view, offset + WORD) > 0n;
    return [account, { balance: readWord(view, offset), hasCode }] as const;
  });
  return {
    block: { ...block, baseFee: readWord(view, 3 * WORD) },
    accounts: new Map(facts),
  };
}

/** Results of calls; undefined if the call needs a request of its own. */
export type LensReads = ReadonlyArray<CallResult | undefined>;

export function encodeRead(reads: readonly ReadCall[]): string {
  return lensInterface.encodeFunctionData("read", [
    reads.map(({ target, data }) => [target, data]),
  ]);
}

/** @returns One result for each read; none if the call failed. */
export function parseRead(answer: CallResult): LensReads {
  const bytes = "data" in answer ? answer.data : Buffer.alloc(0);
  return (parseLensEntries(bytes, 0, bytes.length) ?? []).map((entry) =>
    entry.status === "unknown" ? undefined : entryAnswer({ bytes }, entry),
  );
}
