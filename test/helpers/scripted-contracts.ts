import { AbiCoder, Wallet } from "ethers";

import { checksumAddress } from "../../src/client/inputs.js";
import { operations } from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import { fieldsOf } from "./fields.js";

export const VAULT = "0x00000000000000000000000000000000000000A1";
export const FACTORY = "0x00000000000000000000000000000000000000A2";
export const KEY = `0x${"11".repeat(32)}`;
export const SETTLER = checksumAddress(new Wallet(KEY).address);
export const GENESIS = `0x${"ee".repeat(32)}`;
export const SETTLE = operations.settleAll.selector;

export const OPEN_ROUND: VaultRound = {
  strikePrice: 1_900n * 10n ** 18n,
  APY: 1n,
  maxVolume: 1_000n,
  filledVolume: 400n,
  minDeposit: 10n,
  startTime: 1_800_000_000n,
  endTime: 1_800_604_800n,
  settledPrice: 0n,
  settledAmount: 0n,
  settled: false,
};

export function settledRound(round: VaultRound): VaultRound {
  return {
    ...round,
    settled: true,
    settledPrice: round.strikePrice + 1n,
    settledAmount: round.filledVolume,
  };
}

export function nextRound(round: VaultRound): VaultRound {
  return {
    ...OPEN_ROUND,
    startTime: round.endTime,
    endTime: round.endTime + 604_800n,
  };
}

export const TIME_OF_GENESIS = 1_700_000_000;

/** A call of a contract, by itself or inside a lens or a simulation. */
export interface ContractCall {
  readonly to: string;
  readonly data: string;
  /** The call reads the state of this block. */
  readonly block: number;
  /** Before or after a settlement that is only simulated. */
  readonly phase: "before" | "after";
}

/** Data that a contract returns, or reverts with. */
export interface ContractAnswer {
  readonly reverted: boolean;
  readonly data: string;
}

/** Contracts in place of the vault and the factory that settle. */
export interface Contracts {
  readonly answerOf: (call: ContractCall) => ContractAnswer;
  /** Code of an address at a block, 0x hex. */
  readonly codeOf: (address: string, block: number) => string;
}

/** An answer to a call of a known operation; 0 for a missing value. */
export function valuesAnswer(data: string, values: object): ContractAnswer {
  const operation = Object.values(operations).find(({ selector }) =>
    data.startsWith(selector),
  );
  const known = fieldsOf(values);
  return operation === undefined
    ? { reverted: true, data: "0x" }
    : {
        reverted: false,
        data: wordsOf(
          ...operation.outputs.map(({ name }) => {
            const value = known[name];
            return typeof value === "bigint" ? value : value === true ? 1 : 0;
          }),
        ),
      };
}

/** Contents of a factory from a block on: a round, no round yet, or none at all. */
export type Answer = VaultRound | "zeros" | "no code" | "revert";

/** A history as a test writes it down: answers by the block that began them. */
export type History = ReadonlyArray<readonly [block: number, answer: Answer]>;

/** A factory with this history at every address. */
export function contractsWithHistory(history: History): Contracts {
  const answerAt = (block: number): Answer =>
    history.findLast(([begin]) => begin <= block)?.[1] ?? "no code";
  return {
    codeOf: (_, block) => (answerAt(block) === "no code" ? "0x" : "0x00"),
    answerOf: ({ data, block }) => {
      const answer = answerAt(block);
      return answer === "no code" || answer === "revert"
        ? { reverted: answer === "revert", data: "0x" }
        : valuesAnswer(data, answer === "zeros" ? {} : answer);
    },
  };
}

export function codeOfVault(address: string): string {
  return [VAULT, FACTORY].some((known) => isSame(known, address))
    ? "0x60"
    : "0x";
}

export function isSame(address: string, other: string): boolean {
  return address.toLowerCase() === other.toLowerCase();
}

export function word(value: bigint | number): string {
  return value.toString(16).padStart(64, "0");
}

export function wordsOf(...values: ReadonlyArray<bigint | number>): string {
  return `0x${values.map(word).join("")}`;
}

/** An order, its text as bytes that need not be UTF-8. */
export function orderWords({
  exType,
  holder = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  number = 1n,
  contractType = 1,
  state = 1,
}: {
  readonly exType: Uint8Array;
  readonly holder?: string;
  readonly number?: bigint;
  readonly contractType?: number;
  readonly state?: number;
}): string {
  // Bytes are encoded as a string is.
  const types = [
    "bytes",
    "address",
    ...Array.from({ length: 11 }, () => "uint256"),
  ];
  const numbers = [number, 2, 3, 4, 5, 6, 7, 8, 9, contractType, state];
  return AbiCoder.defaultAbiCoder().encode(types, [exType, holder, ...numbers]);
}
