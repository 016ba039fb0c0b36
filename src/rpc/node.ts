import type { Eip1193Provider } from "./eip1193.js";
import {
  RevertedCall,
  invalidResponse,
  isHexData,
  parseQuantity,
  requestQuantity,
  requestRpc,
} from "./request.js";

/** The call that a settlement makes, as far as a simulation needs it. */
export interface SettlementCall {
  readonly from: string;
  readonly to: string;
  readonly data: string;
}

export interface Header {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly gasLimit: bigint;
  /** Undefined on chains without EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
}

export interface Receipt {
  readonly hash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly gasUsed: bigint;
  readonly succeeded: boolean;
}

/** A transaction as a node describes it. */
export interface SeenTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | undefined;
  readonly data: string;
  readonly nonce: number;
  readonly isMined: boolean;
}

/** What a settlement asks a node, each answer checked before it is believed. */
export class Chain {
  public readonly provider: Eip1193Provider;
  public readonly network: string;

  constructor(provider: Eip1193Provider, network: string) {
    this.provider = provider;
    this.network = network;
  }

  public async request(
    method: string,
    params: readonly unknown[],
  ): Promise<unknown> {
    return await requestRpc(this.provider, this.network, method, params);
  }

  public async quantity(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<bigint> {
    return await requestQuantity(this.provider, this.network, method, params);
  }

  /** How many transactions of the account are mined, or also wait. */
  public async nonce(
    address: string,
    tag: "latest" | "pending" | number,
  ): Promise<number> {
    return Number(
      await this.quantity("eth_getTransactionCount", [
        address,
        typeof tag === "number" ? `0x${tag.toString(16)}` : tag,
      ]),
    );
  }

  public async latestHeader(): Promise<Header> {
    const method = "eth_getBlockByNumber";
    const header = this.#record(
      await this.request(method, ["latest", false]),
      method,
    );
    const { number, timestamp, gasLimit, baseFeePerGas } = header;
    return {
      number: this.#number(number, method),
      timestamp: this.#number(timestamp, method),
      gasLimit: parseQuantity(gasLimit, this.network, method),
      baseFeePerGas:
        baseFeePerGas === undefined || baseFeePerGas === null
          ? undefined
          : parseQuantity(baseFeePerGas, this.network, method),
    };
  }

  public async hasCode(address: string): Promise<boolean> {
    const method = "eth_getCode";
    const code = await this.request(method, [address, "latest"]);
    if (!isHexData(code)) {
      throw invalidResponse(this.network, method, "not hex data");
    }
    return code !== "0x";
  }

  /** @returns The revert if the contract refuses the call, else undefined. */
  public async simulate(
    call: SettlementCall,
    block: "latest" | number,
  ): Promise<RevertedCall | undefined> {
    const answer = await this.request("eth_call", [
      call,
      typeof block === "number" ? `0x${block.toString(16)}` : block,
    ]);
    return answer instanceof RevertedCall ? answer : undefined;
  }

  /** @returns The receipt, or undefined while the transaction is not mined. */
  public async receipt(hash: string): Promise<Receipt | undefined> {
    const method = "eth_getTransactionReceipt";
    const answer = await this.request(method, [hash]);
    if (answer === null) {
      return undefined;
    }
    const receipt = this.#record(answer, method);
    const { transactionHash, blockNumber, blockHash, gasUsed, status } =
      receipt;
    // Some nodes answer a receipt without a block for a waiting transaction.
    if (blockNumber === null || blockHash === null) {
      return undefined;
    }
    if (
      typeof transactionHash !== "string" ||
      transactionHash.toLowerCase() !== hash.toLowerCase()
    ) {
      throw invalidResponse(
        this.network,
        method,
        "it is the receipt of another transaction",
      );
    }
    return {
      hash,
      blockNumber: this.#number(blockNumber, method),
      blockHash: this.#hash(blockHash, method),
      gasUsed: parseQuantity(gasUsed, this.network, method),
      succeeded: parseQuantity(status, this.network, method) === 1n,
    };
  }

  /** @returns What the node knows of a transaction, mined or waiting. */
  public async transaction(hash: string): Promise<SeenTransaction | undefined> {
    const method = "eth_getTransactionByHash";
    const answer = await this.request(method, [hash]);
    return answer === null
      ? undefined
      : this.#seenTransaction(this.#record(answer, method), method);
  }

  /** The transactions of one block, or those that wait. */
  public async transactionsOf(
    block: "pending" | number,
  ): Promise<readonly SeenTransaction[]> {
    const method = "eth_getBlockByNumber";
    const { transactions } = this.#record(
      await this.request(method, [
        typeof block === "number" ? `0x${block.toString(16)}` : block,
        true,
      ]),
      method,
    );
    if (!Array.isArray(transactions)) {
      throw invalidResponse(this.network, method, "no transactions");
    }
    return transactions.map((transaction) =>
      this.#seenTransaction(this.#record(transaction, method), method),
    );
  }

  #seenTransaction(
    { hash, from, to, input, nonce, blockNumber }: Record<string, unknown>,
    method: string,
  ): SeenTransaction {
    return {
      hash: this.#hash(hash, method),
      from: String(from).toLowerCase(),
      to: typeof to === "string" ? to.toLowerCase() : undefined,
      data: String(input).toLowerCase(),
      nonce: this.#number(nonce, method),
      isMined: blockNumber !== null && blockNumber !== undefined,
    };
  }

  #number(value: unknown, method: string): number {
    return Number(parseQuantity(value, this.network, method));
  }

  #hash(value: unknown, method: string): string {
    if (isHexData(value) && value.length === 66) {
      return value;
    }
    throw invalidResponse(this.network, method, "a hash was expected");
  }

  #record(value: unknown, method: string): Record<string, unknown> {
    if (typeof value !== "object" || value === null) {
      throw invalidResponse(this.network, method, "an object was expected");
    }
    return { ...value };
  }
}
