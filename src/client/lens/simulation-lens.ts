import type { Buffer } from "node:buffer";

import { Interface, dataSlice, getAddress, id } from "ethers";

import type { CallResult } from "../../rpc/rpc-client.js";
import { SimulationLensArtifact } from "./artifact.js";
import type { ExecutedBlock, ReadCall } from "./lens.js";
import { entryAnswer, parseLensEntries, readBlock } from "./lens.js";
import { WORD, hexWord, readSmallWord, readWord, viewOf } from "../words.js";

const lensInterface = new Interface(SimulationLensArtifact.abi);

export const simulationLensCode: string =
  SimulationLensArtifact.deployedBytecode;

/** An unused address: the lens replaces no account there. */
export const NOBODYS_ADDRESS = getAddress(
  dataSlice(id("hardhat-vault/SimulationLens"), 12),
);

const SIMULATED = id("hardhat-vault/SimulationLens/1").slice(2);
const HEADER = 10 * WORD;
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

function parseReads(bytes: Buffer, from: number, to: number): LensReads {
  return (parseLensEntries(bytes, from, to) ?? []).map((entry) =>
    entry.status === "unknown" ? undefined : entryAnswer({ bytes }, entry),
  );
}

export function encodeRead(reads: readonly ReadCall[]): string {
  return lensInterface.encodeFunctionData("read", [wordsOf(reads)]);
}

/** @returns One result for each read; none if the call failed. */
export function parseRead(answer: CallResult): LensReads {
  return "data" in answer ? parseReads(answer.data, 0, answer.data.length) : [];
}

/**
 * Encodes a simulation inside one call; see SimulationLens.sol.
 *
 * @param call.reader Caller of the reads; the lens is at this address, too.
 * @param call.reserve Gas left for the reads after the call.
 */
export function encodeSimulate(call: {
  readonly reader: string;
  readonly reads: readonly ReadCall[];
  readonly target: string;
  readonly data: string;
  readonly gasLimit: bigint;
  readonly reserve: bigint;
}): string {
  return lensInterface.encodeFunctionData("simulate", [
    call.reader,
    wordsOf(call.reads),
    call.target,
    call.data,
    call.gasLimit,
    call.reserve,
  ]);
}

function wordsOf(reads: readonly ReadCall[]) {
  return reads.map(({ target, data }) => [target, data]);
}

interface LensResult {
  readonly block: ExecutedBlock;
  readonly succeeded: boolean;
  readonly gasUsed: number;
  readonly gasGiven: number;
  /** Returned data or revert data. */
  readonly returned: Buffer;
  readonly before: LensReads;
  readonly after: LensReads;
}

/** @returns Undefined if `simulate` returns something else. */
export function parseLensResult(bytes: Buffer): LensResult | undefined {
  if (bytes.length < HEADER || bytes.toString("hex", 0, WORD) !== SIMULATED) {
    return undefined;
  }
  const block = readBlock(bytes, WORD);
  const words = [4, 5, 6, 7, 8, 9].map((word) =>
    readSmallWord(viewOf(bytes), word * WORD),
  );
  const [success, gasUsed = 0, gasGiven = 0, ...lengths] = words;
  const [returned = 0, before = 0, after = 0] = lengths;
  const start = HEADER + returned;
  return block === undefined ||
    words.includes(undefined) ||
    start + before + after !== bytes.length
    ? undefined
    : {
        block,
        succeeded: success === 1,
        gasUsed,
        gasGiven,
        returned: bytes.subarray(HEADER, start),
        before: parseReads(bytes, start, start + before),
        after: parseReads(bytes, start + before, bytes.length),
      };
}
