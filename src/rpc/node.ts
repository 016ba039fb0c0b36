import { ZeroHash, toQuantity } from "ethers";

import { vaultError } from "../errors.js";
import type { Eip1193Provider } from "./eip1193.js";
import { isNodeRefusal } from "./errors.js";
import { TRANSACTION_GAS_CAP } from "./gas.js";
import { AnswerReader, RevertedCall, requestRpc } from "./request.js";

/**
 * A block as it is asked for: its number, or a tag as on the wire, which a hex
 * quantity is too.
 */
export type BlockId = number | string;

/** A block, as far as a reading has to name it. */
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

/** A call as it is asked for: without value, and without a limit for gas. */
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

/** A transaction as a node describes it. */
export interface SeenTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | undefined;
  readonly data: string;
  readonly nonce: number;
  readonly isMined: boolean;
}

/** What is asked of a node, each answer checked before it is believed. */
export class Chain {
  /** What is answered where a block is asked for. */
  readonly #ofBlock: AnswerReader;

  constructor(
    public readonly provider: Eip1193Provider,
    public readonly network: string,
  ) {
    this.#ofBlock = this.reader(BLOCK_METHOD);
  }

  /** Reads what the method answers. */
  public reader(method: string): AnswerReader {
    return new AnswerReader(this.network, method);
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

  /** The chain id. */
  public async chainId(): Promise<number> {
    return await this.#count("eth_chainId", []);
  }

  /** Number of the newest block. */
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

  /** Native balance of an account. */
  public async balance(
    address: string,
    block: BlockId = "latest",
  ): Promise<bigint> {
    return await this.quantity("eth_getBalance", [address, toBlockId(block)]);
  }

  /** Whether there is a contract at the address. */
  public async hasCode(
    address: string,
    block: BlockId = "latest",
  ): Promise<boolean> {
    const method = "eth_getCode";
    const code = await this.request(method, [address, toBlockId(block)]);
    return this.reader(method).bytes(code).length > 0;
  }

  /**
   * Number and time of a block.
   *
   * @throws VaultError VAULT_BLOCK_NOT_FOUND, VAULT_RPC_INVALID_RESPONSE and
   * those of a failed request
   */
  public async block(block: BlockId): Promise<BlockInfo> {
    return this.#blockInfo(await this.#block(block), block);
  }

  /**
   * What else a block's header has.
   *
   * @throws VaultError as {@link block} does
   */
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

  /**
   * Hash of the chain's first block; undefined where the node has pruned it.
   *
   * @throws VaultError VAULT_RPC_INVALID_RESPONSE for a block without a hash,
   * which must not look like another chain, and those of a failed request
   */
  public async genesisHash(): Promise<string | undefined> {
    const genesis = await this.#findBlock(0);
    return genesis === undefined
      ? undefined
      : this.#ofBlock.hash(genesis["hash"]);
  }

  /**
   * The block that the node would make now; undefined where it does not say. A
   * node's clock need not be ours: development nodes can be moved in time. Some
   * give their newest block instead: the nodes of some rollups do, and Geth's,
   * which leaves its hash out, where it makes no blocks.
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
   * @param gas What the call may use: nodes differ in what they give without.
   * A node that allows no more than EIP-7825 does is asked with that much.
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
    const {
      transactionHash,
      blockNumber,
      blockHash,
      gasUsed,
      status,
      logs,
      contractAddress,
    } = read.record(answer);
    // Some nodes answer a receipt without a block for a waiting transaction.
    if (blockNumber === null || blockHash === null) {
      return undefined;
    }
    if (
      typeof transactionHash !== "string" ||
      transactionHash.toLowerCase() !== hash.toLowerCase()
    ) {
      throw read.invalid("it is the receipt of another transaction");
    }
    return {
      hash,
      logs,
      contractAddress,
      blockNumber: read.number(blockNumber),
      blockHash: read.hash(blockHash),
      gasUsed: read.quantity(gasUsed),
      succeeded: read.quantity(status) === 1n,
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
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const answer = await this.request(BLOCK_METHOD, [
      toBlockId(block),
      withTransactions,
    ]);
    return answer === null ? undefined : this.#ofBlock.record(answer);
  }

  async #block(
    block: BlockId,
    withTransactions = false,
  ): Promise<Readonly<Record<string, unknown>>> {
    const found = await this.#findBlock(block, withTransactions);
    if (found === undefined) {
      throw vaultError("VAULT_BLOCK_NOT_FOUND", {
        network: this.network,
        block: describeBlock(block),
      });
    }
    return found;
  }

  #blockInfo(
    found: Readonly<Record<string, unknown>>,
    asked: BlockId,
  ): BlockInfo {
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

  #gasOf({
    gasLimit,
    baseFeePerGas,
  }: Readonly<Record<string, unknown>>): Pick<
    Header,
    "gasLimit" | "baseFeePerGas"
  > {
    return {
      gasLimit: this.#ofBlock.quantity(gasLimit),
      baseFeePerGas:
        baseFeePerGas === undefined || baseFeePerGas === null
          ? undefined
          : this.#ofBlock.quantity(baseFeePerGas),
    };
  }

  async #count(method: string, params: readonly unknown[]): Promise<number> {
    return this.reader(method).number(await this.request(method, params));
  }
}

const BLOCK_METHOD = "eth_getBlockByNumber";

function seenTransaction(
  transaction: unknown,
  read: AnswerReader,
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
