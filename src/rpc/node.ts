import { ZeroHash, toQuantity } from "ethers";

import { vaultError } from "../errors.js";
import type { Eip1193Provider } from "./eip1193.js";
import { isNodeRefusal } from "./errors.js";
import { TRANSACTION_GAS_CAP } from "./gas.js";
import { ResponseParser, RevertedCall, requestRpc } from "./request.js";

/** The number of a block, or a tag or a hex quantity as on the wire. */
export type BlockId = number | string;

export interface BlockInfo {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
}

export interface Header extends BlockInfo {
  readonly hash: string;
  readonly gasLimit: bigint;
  /** Undefined on chains without EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
}

/** The block that a node would make next. */
export interface PendingBlock extends Omit<Header, "hash" | "number"> {
  /** Undefined where the node has not given it one. */
  readonly number: number | undefined;
}

export interface CallRequest {
  readonly from: string;
  readonly to: string;
  readonly data: string;
}

export interface Receipt {
  readonly hash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly gasUsed: bigint;
  readonly succeeded: boolean;
  /** As the node has them. */
  readonly logs: unknown;
  /** As the node has it: what a transaction without a receiver deployed. */
  readonly contractAddress: unknown;
}

export interface SeenTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | undefined;
  readonly data: string;
  readonly nonce: number;
  readonly isMined: boolean;
}

/** What is asked of a node, each answer checked before it is believed. */
export class RpcClient {
  readonly #ofBlock: ResponseParser;

  constructor(
    public readonly provider: Eip1193Provider,
    public readonly network: string,
  ) {
    this.#ofBlock = this.reader(BLOCK_METHOD);
  }

  public reader(method: string): ResponseParser {
    return new ResponseParser(this.network, method);
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
    return this.reader(method).quantity(await this.request(method, params));
  }

  public async chainId(): Promise<number> {
    return await this.#count("eth_chainId", []);
  }

  public async blockNumber(): Promise<number> {
    return await this.#count("eth_blockNumber", []);
  }

  /** How many transactions of the account are mined, or also wait. */
  public async nonce(address: string, block: BlockId): Promise<number> {
    return await this.#count("eth_getTransactionCount", [
      address,
      toBlockId(block),
    ]);
  }

  public async balance(
    address: string,
    block: BlockId = "latest",
  ): Promise<bigint> {
    return await this.quantity("eth_getBalance", [address, toBlockId(block)]);
  }

  public async hasCode(
    address: string,
    block: BlockId = "latest",
  ): Promise<boolean> {
    const method = "eth_getCode";
    const code = await this.request(method, [address, toBlockId(block)]);
    return this.reader(method).bytes(code).length > 0;
  }

  /**
   * @throws VaultError VAULT_BLOCK_NOT_FOUND, VAULT_RPC_INVALID_RESPONSE and
   * those of a failed request
   */
  public async block(block: BlockId): Promise<BlockInfo> {
    return this.#blockInfo(await this.#block(block), block);
  }

  /** @throws VaultError as {@link block} does */
  public async header(block: BlockId = "latest"): Promise<Header> {
    const found = await this.#block(block);
    return {
      ...this.#blockInfo(found, block),
      ...this.#gasOf(found),
      hash: this.#ofBlock.hash(found["hash"]),
    };
  }

  /** How much gas a block has room for; also the pending one, without a hash. */
  public async gasLimit(block: BlockId): Promise<bigint> {
    const { gasLimit } = await this.#block(block);
    return this.#ofBlock.quantity(gasLimit);
  }

  /** Hash of the chain's first block; undefined if the node has pruned it. */
  public async genesisHash(): Promise<string | undefined> {
    const genesis = await this.#findBlock(0);
    return genesis === undefined
      ? undefined
      : this.#ofBlock.hash(genesis["hash"]);
  }

  /**
   * The block that the node would make now; undefined if it has none to tell of.
   * Some nodes return their newest block instead: those of some rollups, and Geth
   * where it makes no blocks.
   */
  public async pending(): Promise<PendingBlock | undefined> {
    try {
      const pending = await this.#block("pending");
      const { number, timestamp, stateRoot } = pending;
      const known = number === null ? undefined : this.#ofBlock.number(number);
      if (
        // There is always a block before it.
        known === 0 ||
        (known !== undefined &&
          // Anvil's pending block has the root of no state.
          stateRoot !== ZeroHash &&
          // Asked afterwards: by now there may be more blocks, but not fewer.
          known <= (await this.blockNumber()))
      ) {
        return undefined;
      }
      return {
        number: known,
        timestamp: this.#ofBlock.number(timestamp),
        ...this.#gasOf(pending),
      };
    } catch {
      // Many public endpoints have no pending block; nothing depends on it.
      return undefined;
    }
  }

  /**
   * @param gas A node that allows no more than EIP-7825 is asked with that much.
   * @returns The revert if the contract refuses the call, else undefined.
   */
  public async simulate(
    call: CallRequest,
    block: BlockId,
    gas: bigint,
  ): Promise<RevertedCall | undefined> {
    const ask = async (most: bigint): Promise<unknown> =>
      await this.request("eth_call", [
        { ...call, gas: toQuantity(most) },
        toBlockId(block),
      ]);
    const answer = await ask(gas).catch(async (error: unknown) => {
      if (gas <= TRANSACTION_GAS_CAP || !isNodeRefusal(error)) {
        throw error;
      }
      return await ask(TRANSACTION_GAS_CAP);
    });
    return answer instanceof RevertedCall ? answer : undefined;
  }

  /** @returns The receipt, or undefined while the transaction is not mined. */
  public async receipt(hash: string): Promise<Receipt | undefined> {
    const method = "eth_getTransactionReceipt";
    const answer = await this.request(method, [hash]);
    if (answer === null) {
      return undefined;
    }
    const read = this.reader(method);
    const receipt = read.record(answer);
    const { blockNumber, blockHash, logs, contractAddress } = receipt;
    // Some nodes answer a receipt without a block for a waiting transaction.
    if (blockNumber === null || blockHash === null) {
      return undefined;
    }
    const of = receipt["transactionHash"];
    if (typeof of !== "string" || of.toLowerCase() !== hash.toLowerCase()) {
      throw read.invalid("it is the receipt of another transaction");
    }
    return {
      hash,
      logs,
      contractAddress,
      blockNumber: read.number(blockNumber),
      blockHash: read.hash(blockHash),
      gasUsed: read.quantity(receipt["gasUsed"]),
      succeeded: read.quantity(receipt["status"]) === 1n,
    };
  }

  /** @returns What the node knows of a transaction, mined or waiting. */
  public async transaction(hash: string): Promise<SeenTransaction | undefined> {
    const method = "eth_getTransactionByHash";
    const answer = await this.request(method, [hash]);
    return answer === null
      ? undefined
      : seenTransaction(answer, this.reader(method));
  }

  /** The transactions of one block, or those that wait. */
  public async transactionsOf(
    block: BlockId,
  ): Promise<readonly SeenTransaction[]> {
    const { transactions } = await this.#block(block, true);
    if (!Array.isArray(transactions)) {
      throw this.#ofBlock.invalid("no transactions");
    }
    return transactions.map((transaction) =>
      seenTransaction(transaction, this.#ofBlock),
    );
  }

  async #findBlock(
    block: BlockId,
    withTransactions = false,
  ): Promise<FoundBlock | undefined> {
    const answer = await this.request(BLOCK_METHOD, [
      toBlockId(block),
      withTransactions,
    ]);
    return answer === null ? undefined : this.#ofBlock.record(answer);
  }

  async #block(block: BlockId, withTransactions = false): Promise<FoundBlock> {
    const found = await this.#findBlock(block, withTransactions);
    if (found === undefined) {
      throw vaultError("VAULT_BLOCK_NOT_FOUND", {
        network: this.network,
        block: describeBlock(block),
      });
    }
    return found;
  }

  #blockInfo(found: FoundBlock, asked: BlockId): BlockInfo {
    const number = this.#ofBlock.number(found["number"]);
    if (!isNaN(Number(asked)) && number !== Number(asked)) {
      throw this.#ofBlock.invalid(
        `block ${number} where block ${describeBlock(asked)} was asked for`,
      );
    }
    return {
      number,
      timestamp: this.#ofBlock.number(found["timestamp"]),
    };
  }

  #gasOf(block: FoundBlock): Pick<Header, "gasLimit" | "baseFeePerGas"> {
    const baseFee = block["baseFeePerGas"] ?? undefined;
    return {
      gasLimit: this.#ofBlock.quantity(block["gasLimit"]),
      baseFeePerGas:
        baseFee === undefined ? undefined : this.#ofBlock.quantity(baseFee),
    };
  }

  async #count(method: string, params: readonly unknown[]): Promise<number> {
    return this.reader(method).number(await this.request(method, params));
  }
}

type FoundBlock = Readonly<Record<string, unknown>>;

const BLOCK_METHOD = "eth_getBlockByNumber";

function seenTransaction(
  transaction: unknown,
  read: ResponseParser,
): SeenTransaction {
  const { hash, from, to, input, nonce, blockNumber } =
    read.record(transaction);
  if (typeof from !== "string" || typeof input !== "string") {
    throw read.invalid("a transaction was expected");
  }
  return {
    hash: read.hash(hash),
    from: from.toLowerCase(),
    to: typeof to === "string" ? to.toLowerCase() : undefined,
    data: input.toLowerCase(),
    nonce: read.number(nonce),
    isMined: blockNumber !== null && blockNumber !== undefined,
  };
}

/** A block as it goes over the wire. */
export function toBlockId(block: BlockId): string {
  return typeof block === "number" ? toQuantity(block) : block;
}

/** A block for a person: hex quantities are for the wire. */
export function describeBlock(block: BlockId): string {
  return typeof block === "string" && block.startsWith("0x")
    ? BigInt(block).toString()
    : String(block);
}
