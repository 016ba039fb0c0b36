import { AbiCoder, id, toQuantity as hex } from "ethers";
import type { Transaction } from "ethers";

import type { VaultRound } from "../../src/protocol/index.js";
import { fieldsOf } from "./fields.js";
import {
  GENESIS,
  OPEN_ROUND,
  SETTLE,
  TIME_OF_GENESIS,
  VAULT,
  isSame,
  settledRound,
  wordsOf,
} from "./scripted-contracts.js";

export const BASE_FEE = 7;
/** What transactions pay above the base fee. */
const TIP = 1;
export const CODE_GAS = 60_000;
const PLAIN_GAS = 21_000;
const GAS_LIMIT = 30_000_000;
const FIRST_HEAD = 5;
/** Geth's code for what it refuses. */
export const REFUSED = -32_000;

export interface Waiting {
  readonly hash: string;
  readonly from: string;
  readonly to: string;
  readonly data: string;
  readonly nonce: number;
}

interface Mined extends Waiting {
  readonly blockNumber: number;
  readonly gasUsed: number;
  readonly succeeded: boolean;
}

const coder = AbiCoder.defaultAbiCoder();

/** The blocks and the pool of a node in this process, and the round that they settle. */
export class ScriptedChain {
  /** The round as each block leaves it. */
  public rounds: VaultRound[] = Array.from(
    { length: FIRST_HEAD + 1 },
    () => OPEN_ROUND,
  );
  public mined: Mined[] = [];
  public pool: Waiting[] = [];
  /** Whether a transaction is mined at once. */
  public mines = true;
  /** The change of the round by a settlement. */
  public effect = settledRound;
  /** Data that settleAll reverts with; a settled round always reverts. */
  public revertsWith: string | undefined;

  #branch = 0;
  #replacedFrom = Infinity;
  /** Numbers of the blocks whose hashes were shown. */
  readonly #shown = new Map<string, number>();

  /** @param fixedHead The latest block; blocks are mined if there is none. */
  constructor(private readonly fixedHead?: number) {}

  public get head(): number {
    return this.fixedHead ?? this.rounds.length - 1;
  }

  public get round(): VaultRound {
    return this.rounds.at(-1) ?? OPEN_ROUND;
  }

  /** Mines the pool into one block, the round changed before that. */
  public mine(
    change: (round: VaultRound) => VaultRound = (same) => same,
  ): void {
    let round = change(this.round);
    const blockNumber = this.head + 1;
    for (const waiting of this.pool) {
      const settles = waiting.data === SETTLE && waiting.to === VAULT;
      const succeeded =
        !settles || (!round.settled && this.revertsWith === undefined);
      if (settles && succeeded) {
        round = this.effect(round);
      }
      const gasUsed = waiting.data === "0x" ? PLAIN_GAS : CODE_GAS;
      this.mined.push({ ...waiting, blockNumber, gasUsed, succeeded });
    }
    this.pool = [];
    this.rounds.push(round);
  }

  /** Replaces this block and those above it by others. */
  public reorganise(from: number): void {
    this.#replacedFrom = from;
    this.#branch += 1;
  }

  protected hashOf(block: number): string {
    const branch = block < this.#replacedFrom ? "" : ` of ${this.#branch}`;
    const hash = block === 0 ? GENESIS : id(`block ${block}${branch}`);
    this.#shown.set(hash, block);
    return hash;
  }

  /** @returns A block above the head if a hash is not of this branch. */
  protected numberOf(tag: unknown): number {
    const { blockHash } = fieldsOf(tag);
    if (typeof blockHash === "string") {
      const number = this.#shown.get(blockHash) ?? Infinity;
      return this.hashOf(number) === blockHash ? number : Infinity;
    }
    return tag === "earliest"
      ? 0
      : tag === "pending"
        ? this.head + 1
        : typeof tag === "string" && tag.startsWith("0x")
          ? Number(tag)
          : this.head;
  }

  protected nonceOf(account: string, tag: unknown): number {
    const newest = this.numberOf(tag);
    return [
      ...this.mined.filter(({ blockNumber }) => blockNumber <= newest),
      ...(tag === "pending" ? this.pool : []),
    ].filter(({ from }) => isSame(from, account)).length;
  }

  protected send(sent: Readonly<Record<string, unknown>>): string {
    const from = String(sent["from"]);
    const nonce = Number(sent["nonce"] ?? this.nonceOf(from, "pending"));
    const waiting = {
      hash:
        typeof sent["hash"] === "string"
          ? sent["hash"]
          : id(`${from} ${nonce}`),
      from,
      to: String(sent["to"]),
      data: String(sent["data"]),
      nonce,
    };
    if (this.pool.some(({ hash }) => hash === waiting.hash)) {
      throw rpcError(REFUSED, "already known");
    }
    if (nonce < this.nonceOf(from, "latest")) {
      throw rpcError(REFUSED, "nonce too low");
    }
    // As in every pool, whatever the fee.
    this.pool = this.pool.filter(
      (one) => one.nonce !== nonce || !isSame(one.from, from),
    );
    this.pool.push(waiting);
    if (this.mines) {
      this.mine();
    }
    return waiting.hash;
  }

  protected sendRaw({ from, to, data, nonce, hash }: Transaction): string {
    return this.send({ from, to, data, nonce, hash });
  }

  protected receiptOf(hash: string): unknown {
    const found = this.mined.find((one) => one.hash === hash);
    if (found === undefined) {
      return null;
    }
    const inBlock = this.#minedIn(found.blockNumber);
    const index = inBlock.indexOf(found);
    return {
      transactionHash: hash,
      blockNumber: hex(found.blockNumber),
      blockHash: this.hashOf(found.blockNumber),
      gasUsed: hex(found.gasUsed),
      status: found.succeeded ? "0x1" : "0x0",
      transactionIndex: hex(index),
      cumulativeGasUsed: hex(sumOfGas(inBlock.slice(0, index + 1))),
      effectiveGasPrice: hex(BASE_FEE + TIP),
      logs:
        found.succeeded && found.data === SETTLE ? [transferLog(VAULT)] : [],
    };
  }

  protected transactionOf(hash: string): unknown {
    const found = [...this.mined, ...this.pool].find(
      (one) => one.hash === hash,
    );
    return found === undefined ? null : describeTransaction(found);
  }

  /** Of so many blocks up to the newest, and the base fee of the next one. */
  protected feeHistory(most: number, newest: number): object {
    const count = Math.min(most, newest + 1);
    const oldest = newest + 1 - count;
    const blocks = Array.from({ length: count }, (_, index) => oldest + index);
    return {
      oldestBlock: hex(oldest),
      baseFeePerGas: [...blocks, newest + 1].map(() => hex(BASE_FEE)),
      gasUsedRatio: blocks.map(
        (block) => sumOfGas(this.#minedIn(block)) / GAS_LIMIT,
      ),
      reward: blocks.map((block) => [
        hex(this.#minedIn(block).length === 0 ? 0 : TIP),
      ]),
    };
  }

  #minedIn(number: number): readonly Mined[] {
    return this.mined.filter(({ blockNumber }) => blockNumber === number);
  }

  protected describeBlock(number: number, whole: unknown): unknown {
    const isPending = number > this.head;
    const transactions = isPending ? this.pool : this.#minedIn(number);
    return {
      number: hex(number),
      timestamp: hex(TIME_OF_GENESIS + number),
      hash: isPending ? null : this.hashOf(number),
      ...(number > 0 && { parentHash: this.hashOf(number - 1) }),
      gasLimit: hex(GAS_LIMIT),
      gasUsed: hex(sumOfGas(this.#minedIn(number))),
      baseFeePerGas: hex(BASE_FEE),
      transactions: transactions.map((one) =>
        whole === true ? describeTransaction(one) : one.hash,
      ),
    };
  }
}

export function transferLog(token: string, from = token): unknown {
  return {
    address: token,
    topics: [
      id("Transfer(address,address,uint256)"),
      coder.encode(["address"], [from]),
      coder.encode(["address"], [from]),
    ],
    data: wordsOf(5),
  };
}

function describeTransaction(transaction: Waiting | Mined): object {
  const { hash, from, to, data, nonce } = transaction;
  return {
    hash,
    from,
    to,
    input: data,
    nonce: hex(nonce),
    type: "0x2",
    value: "0x0",
    gas: "0xfffff",
    blockNumber:
      "blockNumber" in transaction ? hex(transaction.blockNumber) : null,
  };
}

function sumOfGas(mined: readonly Mined[]): number {
  return mined.reduce((sum, { gasUsed }) => sum + gasUsed, 0);
}

export function rpcError(code: number, message: string, data?: string): Error {
  return Object.assign(new Error(message), {
    code,
    ...(data === undefined ? {} : { data }),
  });
}
