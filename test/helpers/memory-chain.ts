import { Transaction, Wallet, id, toQuantity } from "ethers";

import { operations } from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { BareHost } from "./bare-host.js";
import type { HostSettings } from "./bare-host.js";
import { fieldsOf } from "./fields.js";
import { scriptedNode, transferLog } from "./scripted-node.js";
import type { ContractAnswer, ContractCall } from "./scripted-node.js";

export const VAULT = "0x00000000000000000000000000000000000000A1";
export const FACTORY = "0x00000000000000000000000000000000000000A2";
export const KEY = `0x${"11".repeat(32)}`;
export const SETTLER = new Wallet(KEY).address;
export const GENESIS = `0x${"ee".repeat(32)}`;
export const SETTLE = operations.settleAll.selector;

/** What `scriptedNode` says that every call of a simulation uses. */
const CODE_GAS = 60_000;
const PLAIN_GAS = 21_000;
const FIRST_HEAD = 5;

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
  return { ...round, settled: true, settledPrice: 7n };
}

export function nextRound(round: VaultRound): VaultRound {
  return {
    ...OPEN_ROUND,
    startTime: round.endTime,
    endTime: round.endTime + 604_800n,
  };
}

/** A transaction as it waits. */
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

/** In the place of an answer; `answer` gives what it would be. */
export type Rewrite = (
  params: readonly unknown[],
  answer: () => Promise<unknown>,
  occurrence: number,
) => unknown;

/**
 * A node in this process with a vault whose rounds are settled by what is sent
 * to it: as fast as a function, and each answer can be changed.
 */
export class MemoryChain {
  /** The round as each block leaves it. */
  public rounds: VaultRound[] = Array.from(
    { length: FIRST_HEAD + 1 },
    () => OPEN_ROUND,
  );
  public mined: Mined[] = [];
  public pool: Waiting[] = [];
  /** Whether what is sent is mined at once. */
  public mines = true;
  /** Whether calls take state overrides, and `eth_simulateV1` is there. */
  public overrides = true;
  /** What a settlement makes of the round. */
  public effect = settledRound;
  /** Data that settleAll reverts with; of a settled round there is always some. */
  public revertsWith: string | undefined;
  public readonly asked: Array<{ method: string; params: readonly unknown[] }> =
    [];
  readonly #rewrites = new Map<string, Rewrite>();

  public readonly provider: Eip1193Provider = {
    request: async ({ method, params = [] }) => {
      const occurrence = this.count(method);
      this.asked.push({ method, params: [...params] });
      const answer = async (): Promise<unknown> =>
        await this.#answer(method, [...params]);
      const rewrite = this.#rewrites.get(method);
      return await (rewrite === undefined
        ? answer()
        : rewrite([...params], answer, occurrence));
    },
  };

  public get head(): number {
    return this.rounds.length - 1;
  }

  public get round(): VaultRound {
    return this.rounds.at(-1) ?? OPEN_ROUND;
  }

  public on(method: string, rewrite: Rewrite): void {
    this.#rewrites.set(method, rewrite);
  }

  /** How often a method was asked for. */
  public count(method: string): number {
    return this.asked.filter((one) => one.method === method).length;
  }

  /** A host over it, its signer's key in the configuration unless changed. */
  public host(settings: HostSettings): BareHost {
    return new BareHost(
      this.provider,
      { vault: VAULT, vaultFactory: FACTORY },
      SETTLER,
      settings,
    );
  }

  /** Makes a block of all that waits, the round changed before that. */
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

  async #answer(method: string, params: readonly unknown[]): Promise<unknown> {
    const node = scriptedNode({
      head: this.head,
      answerOf: (call) => this.#contractAnswer(call),
      codeOf: (address) =>
        [VAULT, FACTORY].some(
          (known) => known.toLowerCase() === address.toLowerCase(),
        )
          ? "0x60"
          : "0x",
      overrides: this.overrides,
    });
    const [first, second] = params;
    switch (method) {
      case "eth_accounts":
        return [SETTLER];
      case "eth_estimateGas":
        await node.request({ method: "eth_call", params: [first, "latest"] });
        return toQuantity(CODE_GAS);
      case "eth_getTransactionCount":
        return toQuantity(this.#nonce(String(first), second));
      case "eth_sendRawTransaction":
        return this.#send(Transaction.from(String(first)));
      case "eth_sendTransaction":
        return this.#send(fieldsOf(first));
      case "eth_getTransactionReceipt":
        return this.#receipt(String(first));
      case "eth_getTransactionByHash":
        return this.#describe(String(first));
      case "eth_getBlockByNumber":
        if (first === "0x0") {
          return { hash: GENESIS };
        }
        return this.#block(
          await node.request({ method, params }),
          first,
          second,
        );
      default:
        return await node.request({ method, params });
    }
  }

  #contractAnswer({ to, data, block, phase }: ContractCall): ContractAnswer {
    const round = this.rounds[Math.min(block, this.head)] ?? OPEN_ROUND;
    const [name, operation] = Object.entries(operations).find(
      ([, { selector }]) => data.startsWith(selector),
    ) ?? [""];
    if (name === "settleAll" && to.toLowerCase() === VAULT.toLowerCase()) {
      const reverted = round.settled || this.revertsWith !== undefined;
      return {
        reverted,
        data: reverted ? (this.revertsWith ?? "0x12345678") : "0x",
      };
    }
    const values: Readonly<Record<string, unknown>> =
      name === "getLatestRoundInfo"
        ? { ...(phase === "after" ? this.effect(round) : round) }
        : {};
    return operation === undefined
      ? { reverted: true, data: "0x" }
      : {
          reverted: false,
          data: `0x${operation.outputs
            .map((field) =>
              BigInt(asInteger(values[field.name]))
                .toString(16)
                .padStart(64, "0"),
            )
            .join("")}`,
        };
  }

  #nonce(account: string, tag: unknown): number {
    const head =
      typeof tag === "string" && tag.startsWith("0x") ? Number(tag) : this.head;
    return [
      ...this.mined.filter(({ blockNumber }) => blockNumber <= head),
      ...(tag === "pending" ? this.pool : []),
    ].filter(({ from }) => from.toLowerCase() === account.toLowerCase()).length;
  }

  #send(sent: object): string {
    const { from, to, data, nonce, hash } = fieldsOf(
      sent instanceof Transaction
        ? {
            from: sent.from,
            to: sent.to,
            data: sent.data,
            nonce: sent.nonce,
            hash: sent.hash,
          }
        : sent,
    );
    const waiting = {
      hash:
        typeof hash === "string"
          ? hash
          : id(`${String(from)} ${String(nonce)}`),
      from: String(from),
      to: String(to),
      data: String(data),
      nonce: Number(nonce),
    };
    this.pool.push(waiting);
    if (this.mines) {
      this.mine();
    }
    return waiting.hash;
  }

  #receipt(hash: string): unknown {
    const found = this.mined.find((one) => one.hash === hash);
    if (found === undefined) {
      return null;
    }
    const inBlock = this.mined.filter(
      ({ blockNumber }) => blockNumber === found.blockNumber,
    );
    const index = inBlock.indexOf(found);
    return {
      transactionHash: hash,
      blockNumber: toQuantity(found.blockNumber),
      blockHash: id(`block ${found.blockNumber}`),
      gasUsed: toQuantity(found.gasUsed),
      status: found.succeeded ? "0x1" : "0x0",
      transactionIndex: toQuantity(index),
      cumulativeGasUsed: toQuantity(
        inBlock
          .slice(0, index + 1)
          .reduce((sum, { gasUsed }) => sum + gasUsed, 0),
      ),
      effectiveGasPrice: "0x1",
      logs:
        found.succeeded && found.data === SETTLE ? [transferLog(VAULT)] : [],
    };
  }

  #describe(hash: string): unknown {
    const mined = this.mined.find((one) => one.hash === hash);
    const found = mined ?? this.pool.find((one) => one.hash === hash);
    return found === undefined
      ? null
      : {
          ...describeTransaction(found),
          blockNumber:
            mined === undefined ? null : toQuantity(mined.blockNumber),
        };
  }

  #block(header: unknown, tag: unknown, whole: unknown): unknown {
    if (header === null) {
      return null;
    }
    const { number } = fieldsOf(header);
    const transactions =
      tag === "pending"
        ? this.pool
        : this.mined.filter(
            ({ blockNumber }) => blockNumber === Number(number),
          );
    return {
      ...fieldsOf(header),
      gasUsed: toQuantity(
        this.mined
          .filter(({ blockNumber }) => blockNumber === Number(number))
          .reduce((sum, { gasUsed }) => sum + gasUsed, 0),
      ),
      transactions: transactions.map((one) =>
        whole === true
          ? { ...describeTransaction(one), blockNumber: number }
          : one.hash,
      ),
    };
  }
}

/** As a word on the wire holds it; 0 of what there is nothing of. */
function asInteger(value: unknown): bigint | boolean {
  return typeof value === "bigint" || typeof value === "boolean" ? value : 0n;
}

function describeTransaction({ hash, from, to, data, nonce }: Waiting): object {
  return {
    hash,
    from,
    to,
    input: data,
    nonce: toQuantity(nonce),
    type: "0x2",
    value: "0x0",
    gas: "0xfffff",
  };
}
