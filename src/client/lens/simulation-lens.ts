import type { Buffer } from "node:buffer";

import { Interface, dataSlice, getAddress, id } from "ethers";

import type { CallResult } from "../../rpc/rpc-client.js";
import { SimulationLensArtifact } from "./artifact.js";
import type { ReadCall } from "./lens.js";
import { parseLensEntries, readBlock } from "./lens-answer.js";
import type { ExecutedBlock, LensEntry } from "./lens-answer.js";
import { WORD, hexWord, readSmallWord, readWord, viewOf } from "./words.js";

const lensInterface = new Interface(SimulationLensArtifact.abi);

/** Its code, for a state override. */
export const simulationLensCode: string =
  SimulationLensArtifact.deployedBytecode;

/** Nobody's address: where the lens stands when it must be nobody. */
export const NOBODYS_ADDRESS = getAddress(
  dataSlice(id("hardhat-vault/SimulationLens"), 12),
);

const SIMULATED = id("hardhat-vault/SimulationLens/1").slice(2);
const HEADER = 10 * WORD;
const FACTS_HEADER = 4 * WORD;

const FACTS_OF = lensInterface.getFunction("factsOf")?.selector;

/** Asks the lens at an address where and when it runs and what accounts have. */
export function factsCall(lens: string, accounts: readonly string[]): ReadCall {
  const words = [WORD, accounts.length, ...accounts].map(hexWord);
  return { target: lens, data: [FACTS_OF, ...words].join("") };
}

/** What the lens says of itself and of accounts. */
export interface LensFacts {
  readonly block: ExecutedBlock & { readonly baseFee: bigint };
  readonly accounts: ReadonlyMap<string, AccountFacts>;
}

interface AccountFacts {
  /** In wei. */
  readonly balance: bigint;
  readonly hasCode: boolean;
}

/**
 * @param accounts Those that it was asked about, in that order.
 * @returns Undefined where it is not what `factsOf` answers.
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

/** What is simulated inside one call; see contracts/lens/SimulationLens.sol. */
export interface LensSimulation {
  /** Whom the readings see; the lens stands there too. */
  readonly reader: string;
  readonly reads: readonly ReadCall[];
  readonly target: string;
  readonly data: string;
  readonly gasLimit: bigint;
  /** Gas that is left for the readings afterwards. */
  readonly reserve: bigint;
}

export function encodeSimulate({
  reader,
  reads,
  target,
  data,
  gasLimit,
  reserve,
}: LensSimulation): string {
  return lensInterface.encodeFunctionData("simulate", [
    reader,
    reads.map((read) => [read.target, read.data]),
    target,
    data,
    gasLimit,
    reserve,
  ]);
}

/** What came of it. */
export interface LensResult {
  readonly block: ExecutedBlock;
  readonly succeeded: boolean;
  readonly gasUsed: number;
  /** What the call could have used. */
  readonly gasGiven: number;
  /** What it returned, or reverted with. */
  readonly returned: Buffer;
  readonly before: readonly LensEntry[];
  readonly after: readonly LensEntry[];
  readonly bytes: Buffer;
}

/** @returns Undefined where the bytes are not what `simulate` answers. */
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
  if (
    block === undefined ||
    words.includes(undefined) ||
    HEADER + returned + before + after !== bytes.length
  ) {
    return undefined;
  }
  const start = HEADER + returned;
  const [entriesBefore, entriesAfter] = [
    parseLensEntries(bytes, start, start + before),
    parseLensEntries(bytes, start + before, bytes.length),
  ];
  return entriesBefore === undefined || entriesAfter === undefined
    ? undefined
    : {
        block,
        succeeded: success === 1,
        gasUsed,
        gasGiven,
        returned: bytes.subarray(HEADER, start),
        before: entriesBefore,
        after: entriesAfter,
        bytes,
      };
}
