import type { Buffer } from "node:buffer";

import { ZeroHash, isHexString, toQuantity } from "ethers";
import pLimit from "p-limit";

import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { Redactor, quoteForeignText } from "../redact.js";
import { sendBounded } from "./bounded-answer.js";
import type { Exchanged } from "./bounded-answer.js";
import { Deadline } from "./deadline.js";
import type { Eip1193Provider } from "./eip1193.js";
import { classifyFailure, isNodeRefusal, toRpcError } from "./errors.js";
import { TRANSACTION_GAS_CAP } from "./gas.js";
import { isHardhatsOwn, toHardhatError } from "./hardhat-error.js";
import { readRefusedAnswer, unpackBody } from "./lenient-answer.js";
import { ResponseParser } from "./response-parser.js";
import { usualRetries, waitAfter } from "./retry.js";
import type { RetryEvent, RetryPolicy } from "./retry.js";
import { hideInReason, revertInResult } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";

/** A block's number, its hex quantity, or a tag. */
export type BlockId = number | string;

export interface BlockInfo {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
}

export interface Block extends BlockInfo {
  /** Undefined for the pending block. */
  readonly hash: string | undefined;
  /** {@link TRANSACTION_GAS_CAP} on chains whose blocks have none. */
  readonly gasLimit: bigint;
  /** Undefined on chains without EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
}

/** The block that a node would make next. */
export type NextBlock = Omit<Block, "hash">;

export interface CallRequest {
  readonly from: string;
  readonly to: string;
  readonly data: string;
}

export interface Reverted {
  readonly reverted: RevertReason;
}

/** The outcome of executing contract code. */
export type Executed = { readonly result: unknown } | Reverted;

export type CallResult = { readonly data: Buffer } | Reverted;

export interface Receipt {
  readonly hash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly gasUsed: bigint;
  /** Undefined on chains whose receipts have no status (before EIP-658). */
  readonly succeeded: boolean | undefined;
  /** Not checked. */
  readonly logs: unknown;
  /** Not checked; the contract that the transaction deployed. */
  readonly contractAddress: unknown;
}

export interface SeenTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | undefined;
  readonly data: string;
  readonly nonce: number;
  readonly isMined: boolean;
  /** Wei per gas; what it paid, once it is mined. Undefined if the node omits it. */
  readonly gasPrice: bigint | undefined;
}

/** Options of all requests of one operation. */
export interface RequestOptions {
  /** Milliseconds for the whole operation, retries included. */
  readonly timeout?: number | undefined;
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
}

/** Deadline of a request whose operation has none. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/**
 * Requests at the same time. Hardhat's pool opens up to two connections for each,
 * because one is not free yet when the next request is sent.
 */
const MAX_CONCURRENCY = 16;

/** Stands for a missing first block; such chains cannot be distinguished. */
export const UNKNOWN_GENESIS = "unknown";

/** A usable node is not further behind, and few keep older state. */
const MOST_BLOCKS_BEHIND = 128;

/**
 * Methods that are safe to send twice. Any other is sent once, at once and without a
 * deadline: its answer must not be lost.
 */
const safeToResend =
  /^(?:eth_(?:accounts|blockNumber|call|chainId|estimateGas|feeHistory|gasPrice|get\w+|maxPriorityFeePerGas|simulateV1)|anvil_nodeInfo|hardhat_metadata|net_version|web3_clientVersion)$/u;

/** State of a node, shared by all clients of a connection. */
export class KnownNode {
  public readonly readSlots = pLimit(MAX_CONCURRENCY);
  /** Queue of the changes to a development chain. */
  public readonly changes = pLimit(1);
  public newestBlock = -1;
  /** True if the node applies state overrides; undefined until tried. */
  public takesOverrides: boolean | undefined;
  /** Methods that cannot simulate correctly on this node, each with the reason. */
  public readonly unableTo = new Map<string, string>();
  /** Hash of the latest block, as of the last request for it. */
  public latestHash: string | undefined;
  /** Suggested prices in wei, each with the hash of the latest block then. */
  public readonly prices = new Map<
    string,
    { readonly hash: string; readonly price: Promise<bigint> }
  >();
  /** The default account that settles, once found. */
  public sender: string | undefined;
  /** True on a development node; undefined until asked. */
  public isDevelopment: boolean | undefined;

  /**
   * @param redactor Knows the secrets of the connection.
   * @param isBehindHardhat True if Hardhat and its plugins handle each request.
   * @param requestTimeout Milliseconds for the body of an answer.
   */
  constructor(
    public readonly redactor = new Redactor(),
    public readonly isBehindHardhat = false,
    public readonly requestTimeout = DEFAULT_TIMEOUT_MS,
  ) {}
}

/** State that the requests of one operation share. */
interface Operation extends Pick<RequestOptions, "onRetry"> {
  /** Undefined if each request has its own. */
  readonly deadline: Deadline | undefined;
  /** The failure of a request that went on until the deadline. */
  ended?: VaultError;
}

interface Sent {
  readonly result: unknown;
}

/** A failed attempt; another one may succeed if `retry` is given. */
interface FailedAttempt {
  readonly thrown: unknown;
  readonly retry: RetryEvent["reason"] | undefined;
  readonly retryAfterMs?: number | undefined;
}

/**
 * Sends every request to a node, retries by the class of the failure, and checks each
 * answer.
 */
export class RpcClient {
  readonly #ofBlock: ResponseParser;

  constructor(
    private readonly provider: Eip1193Provider,
    public readonly network: string,
    public readonly node = new KnownNode(),
    private readonly operation?: Operation,
    private readonly policy = usualRetries,
  ) {
    this.#ofBlock = this.parser(BLOCK_METHOD);
  }

  /**
   * Creates a client whose requests share a deadline. Within another operation, the
   * outer deadline applies.
   */
  public withOptions({ timeout, onRetry }: RequestOptions): RpcClient {
    const deadline = timeout === undefined ? undefined : new Deadline(timeout);
    return this.operation === undefined
      ? this.#with({ deadline, onRetry }, this.policy)
      : this;
  }

  public withRetries(policy: RetryPolicy): RpcClient {
    return this.#with(this.operation, policy);
  }

  #with(operation: Operation | undefined, policy: RetryPolicy): RpcClient {
    const { provider, network, node } = this;
    return new RpcClient(provider, network, node, operation, policy);
  }

  /** Hides the secrets of the connection in texts from outside. */
  public get redactor(): Redactor {
    return this.node.redactor;
  }

  public parser(method: string): ResponseParser {
    return new ResponseParser(this.network, method);
  }

  /** Sends a request that executes no contract. */
  public async request(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<unknown> {
    const executed = await this.requestOrRevert(method, params);
    if ("reverted" in executed) {
      throw vaultError("VAULT_RPC_ERROR", {
        network: this.network,
        method,
        problem: quoteForeignText(executed.reverted.text),
      });
    }
    return executed.result;
  }

  /**
   * Sends a request that may execute a contract. Retries a failed one if its class,
   * the policy and the deadline allow that.
   */
  public async requestOrRevert(
    method: string,
    params: readonly unknown[],
  ): Promise<Executed> {
    const { operation } = this;
    const deadline = operation?.deadline ?? new Deadline(DEFAULT_TIMEOUT_MS);
    const begunAt = performance.now();
    let failed: FailedAttempt | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#send(method, params, deadline);
      if (outcome !== undefined && !("thrown" in outcome)) {
        return outcome;
      }
      // An earlier failure explains more than a timeout.
      failed = outcome ?? failed;
      const seconds = Math.round((performance.now() - begunAt) / 1_000);
      const tried =
        attempt === 1 ? "" : ` (tried ${attempt} times in ${seconds} s)`;
      const reason = outcome?.retry;
      if (
        reason === undefined ||
        attempt >= this.policy[reason] ||
        deadline.isOver
      ) {
        const error =
          failed === undefined
            ? (operation?.ended ?? this.#timedOut(method))
            : this.#toError(failed.thrown, method, tried);
        if (operation !== undefined && deadline.isOver && attempt > 1) {
          // The node's last error explains later requests, too.
          operation.ended ??= error;
        }
        throw error;
      }
      const problem = this.#toError(outcome?.thrown, method).shortMessage;
      operation?.onRetry?.({ method, reason, problem, attempt });
      await deadline.pause(waitAfter(attempt, outcome?.retryAfterMs));
    }
  }

  /** Sends once. @returns Undefined if the deadline comes first. */
  async #send(
    method: string,
    params: readonly unknown[],
    deadline: Deadline,
  ): Promise<Executed | FailedAttempt | undefined> {
    const { provider } = this;
    const maySendAgain = safeToResend.test(method);
    let seen: (() => Exchanged) | undefined;
    const send = async (): Promise<Sent | undefined> => {
      const { answer, cancel, exchanged } = sendBounded(
        async () => await provider.request({ method, params }),
        {
          timeout: this.node.requestTimeout,
          tooLong: (limit) =>
            this.parser(method).invalid(`the answer is longer than ${limit}`),
        },
      );
      seen = () => exchanged(method, params);
      const sent = answer.then(
        (result) => ({ result }),
        (thrown: unknown) =>
          this.#readLeniently(thrown, method, exchanged(method, params)),
      );
      if (!maySendAgain) {
        return await sent;
      }
      const inTime = await deadline.within(sent);
      if (inTime === undefined) {
        cancel();
        // Nobody waits for this answer any more.
        sent.catch(() => undefined);
      }
      return inTime;
    };
    try {
      const sent = await (maySendAgain
        ? deadline.within(
            // A request that waited past the deadline is not sent.
            this.node.readSlots(async () =>
              deadline.isOver ? undefined : await send(),
            ),
          )
        : send());
      const result = sent?.result ?? null;
      if (
        method === BLOCK_METHOD &&
        sent !== undefined &&
        result === null &&
        this.#isKnownBlock(method, params)
      ) {
        return { thrown: this.#blockNotFound(params[0]), retry: "transient" };
      }
      if (sent === undefined) {
        const thrown = seen?.().refusal;
        return thrown === undefined ? undefined : { thrown, retry: undefined };
      }
      return { result };
    } catch (thrown) {
      const { redactor, isBehindHardhat } = this.node;
      if (isBehindHardhat && isHardhatsOwn(thrown)) {
        return { thrown: toHardhatError(thrown, redactor), retry: undefined };
      }
      const failure = classifyFailure(thrown);
      if (failure.kind === "reverted") {
        return { reverted: this.#hide(failure.reverted) };
      }
      const { kind, retryAfterMs } = failure;
      // Of a request with overrides, the node may refuse those.
      const lacksBlock =
        kind === "behind" ||
        (kind === "refused" &&
          params.length <= 2 &&
          method !== "eth_simulateV1");
      const isTransient =
        kind === "transient" ||
        (lacksBlock && this.#isKnownBlock(method, params));
      const retry = isTransient
        ? "transient"
        : kind === "busy"
          ? kind
          : undefined;
      return { thrown, retry: maySendAgain ? retry : undefined, retryAfterMs };
    }
  }

  #hide(reason: RevertReason): RevertReason {
    return hideInReason(reason, (text) => this.redactor.hide(text));
  }

  #toError(thrown: unknown, method: string, tried?: string): VaultError {
    return toRpcError(thrown, this.network, method, tried, this.redactor);
  }

  /** @throws the node's error, else what was thrown */
  #readLeniently(thrown: unknown, method: string, seen: Exchanged): Sent {
    unpackBody(thrown, seen);
    const answer = readRefusedAnswer(thrown, seen) ?? { error: thrown };
    if ("result" in answer) {
      return answer;
    }
    throw "error" in answer
      ? answer.error
      : this.parser(method).invalid(answer.problem);
  }

  /** True if the request is for a recent block that some node has. */
  #isKnownBlock(method: string, params: readonly unknown[]): boolean {
    const { newestBlock } = this.node;
    const block = params[method === BLOCK_METHOD ? 0 : 1];
    return (
      isHexString(block) &&
      Number(block) <= newestBlock &&
      Number(block) > newestBlock - MOST_BLOCKS_BEHIND
    );
  }

  /** Notes that some node has this block; others may be behind. */
  public noteBlock(number: number): void {
    this.node.newestBlock = Math.max(this.node.newestBlock, number);
  }

  #blockNotFound(block: unknown): VaultError {
    return vaultError("VAULT_BLOCK_NOT_FOUND", {
      network: this.network,
      block: describeBlock(String(block)),
    });
  }

  #timedOut(method: string): VaultError {
    const { network } = this;
    return vaultError("VAULT_RPC_TIMEOUT", { network, method, tried: "" });
  }

  /**
   * Waits until the operation's deadline for work that does not use this client.
   *
   * @param method Name of the work in error texts.
   */
  public async withinDeadline<T>(method: string, work: Promise<T>): Promise<T> {
    const { deadline } = this.operation ?? {};
    if (deadline === undefined) {
      return await work;
    }
    const done = await deadline.within(work.then((value) => ({ value })));
    if (done === undefined) {
      throw this.#timedOut(method);
    }
    return done.value;
  }

  /**
   * Runs tasks that change a development chain one after the other. A task that writes
   * back a value or reverts to a snapshot must not undo changes of another.
   */
  public async inOrder<Result>(task: () => Promise<Result>): Promise<Result> {
    return await this.node.changes(task);
  }

  public async call(
    call: CallRequest | Readonly<Record<string, string>>,
    block: BlockId,
    ...overrides: readonly object[]
  ): Promise<CallResult> {
    const method = "eth_call";
    const params = [call, toBlockId(block), ...overrides];
    const executed = await this.requestOrRevert(method, params);
    if ("reverted" in executed) {
      return executed;
    }
    const data = this.parser(method).bytes(executed.result);
    const reverted = revertInResult(data);
    return reverted === undefined
      ? { data }
      : { reverted: this.#hide(reverted) };
  }

  public async quantity(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<bigint> {
    return this.parser(method).quantity(await this.request(method, params));
  }

  /** A price that the node suggests, in wei; requested once per latest block. */
  public async price(
    method: "eth_gasPrice" | "eth_maxPriorityFeePerGas",
  ): Promise<bigint> {
    const { latestHash: hash, prices } = this.node;
    const known = prices.get(method);
    if (known !== undefined && known.hash === hash) {
      return await known.price;
    }
    const price = this.quantity(method);
    if (hash !== undefined) {
      prices.set(method, { hash, price });
    }
    return await price.catch((error: unknown) => {
      prices.delete(method);
      throw error;
    });
  }

  public async chainId(): Promise<number> {
    return await this.#count("eth_chainId");
  }

  public async blockNumber(): Promise<number> {
    const number = await this.#count("eth_blockNumber");
    this.noteBlock(number);
    return number;
  }

  /** At the block `pending`, waiting transactions count, too. */
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
    return (await this.code(address, block)) !== "0x";
  }

  /** Runtime code at an address, 0x hex. */
  public async code(address: string, block: BlockId): Promise<string> {
    const method = "eth_getCode";
    const code = await this.request(method, [address, toBlockId(block)]);
    return `0x${this.parser(method).bytes(code).toString("hex")}`;
  }

  public async getBlock(block: BlockId = "latest"): Promise<Block> {
    const read = this.#ofBlock;
    const found = await this.#block(block);
    const number = read.number(found["number"]);
    if (!isNaN(Number(block)) && number !== Number(block)) {
      throw read.invalid(
        `block ${number} in place of block ${describeBlock(block)}`,
      );
    }
    const hash =
      (found["hash"] ?? null) === null ? undefined : read.hash(found["hash"]);
    if (block === "latest") {
      this.node.latestHash = hash;
    }
    // The pending block does not exist yet, but the one before it does.
    this.noteBlock(block === "pending" ? number - 1 : number);
    return {
      number,
      timestamp: read.seconds(found["timestamp"]),
      hash,
      // Of Celo's blocks, some have none.
      gasLimit:
        (found["gasLimit"] ?? null) === null
          ? TRANSACTION_GAS_CAP
          : read.quantity(found["gasLimit"]),
      baseFeePerGas: this.#baseFeeOf(found),
    };
  }

  /** Hash of the first block; {@link UNKNOWN_GENESIS} if the node has pruned it. */
  public async genesisHash(): Promise<string> {
    const genesis = await this.#findBlock(0);
    return genesis === undefined
      ? UNKNOWN_GENESIS
      : this.#ofBlock.hash(genesis["hash"]);
  }

  /**
   * The newest block and the next one, with time and base fee of the node's pending
   * block. Many public endpoints have no pending block. The next block then has this
   * machine's time, as the newest block may be old, and the base fee of the newest block.
   */
  public async nextBlock(): Promise<{ latest: Block; next: NextBlock }> {
    const [latest, pending] = await Promise.all([
      this.getBlock(),
      // The pending block is optional.
      this.#block("pending").catch(() => ({})),
    ]);
    const { hash: _, ...gas } = latest;
    const number = latest.number + 1;
    const next = { ...gas, number, timestamp: latest.timestamp + 1 };
    const now = Math.floor(Date.now() / 1_000);
    const timestamp = Math.max(next.timestamp, now);
    const made = this.#pendingAfter(next, pending) ?? { ...next, timestamp };
    return { latest, next: made };
  }

  #pendingAfter(next: NextBlock, pending: FoundBlock): NextBlock | undefined {
    const { number, timestamp, stateRoot } = pending;
    try {
      // Nodes of some rollups, and Geth if it makes no blocks, return their newest
      // block instead. Anvil's block may be mined by now, but has no state root.
      const isPending =
        number === null ||
        stateRoot === ZeroHash ||
        this.#ofBlock.number(number) >= next.number;
      const time = Math.max(next.timestamp, this.#ofBlock.seconds(timestamp));
      const baseFeePerGas = this.#baseFeeOf(pending);
      return isPending
        ? { ...next, timestamp: time, baseFeePerGas }
        : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * @param gas Lowered to the EIP-7825 limit if the node refuses more.
   * @returns The reason of the revert, else undefined.
   */
  public async simulate(
    call: CallRequest,
    block: BlockId,
    gas: bigint,
  ): Promise<RevertReason | undefined> {
    const callWith = async (most: bigint): Promise<CallResult> =>
      await this.call({ ...call, gas: toQuantity(most) }, block);
    const answer = await callWith(gas).catch(async (error: unknown) => {
      if (gas <= TRANSACTION_GAS_CAP || !isNodeRefusal(error)) {
        throw error;
      }
      return await callWith(TRANSACTION_GAS_CAP);
    });
    return "reverted" in answer ? answer.reverted : undefined;
  }

  /** @returns Undefined while the transaction is not mined. */
  public async receipt(hash: string): Promise<Receipt | undefined> {
    const method = "eth_getTransactionReceipt";
    const answer = await this.request(method, [hash]);
    if (answer === null) {
      return undefined;
    }
    const read = this.parser(method);
    const receipt = read.record(answer);
    const { blockNumber, blockHash, logs, contractAddress } = receipt;
    // Some nodes return a receipt without a block for a waiting transaction.
    if (blockNumber === null || blockHash === null || blockHash === ZeroHash) {
      return undefined;
    }
    const found = receipt["transactionHash"] ?? hash;
    if (
      typeof found !== "string" ||
      found.toLowerCase() !== hash.toLowerCase()
    ) {
      throw read.invalid("it is the receipt of another transaction");
    }
    return {
      hash,
      logs,
      contractAddress,
      blockNumber: read.number(blockNumber),
      blockHash: read.hash(blockHash),
      gasUsed: read.quantity(receipt["gasUsed"]),
      succeeded:
        (receipt["status"] ?? null) === null
          ? undefined
          : isSuccess(receipt["status"], read),
    };
  }

  /** @returns A mined or waiting transaction, or undefined if the node has none. */
  public async transaction(hash: string): Promise<SeenTransaction | undefined> {
    const method = "eth_getTransactionByHash";
    const answer = await this.request(method, [hash]);
    return answer === null
      ? undefined
      : seenTransaction(answer, this.parser(method));
  }

  /**
   * The transactions of a block; at `pending`, those that wait. Left out are those of
   * the chain itself, such as deposits of rollups, which have another form.
   */
  public async transactionsOf(
    block: BlockId,
  ): Promise<readonly SeenTransaction[]> {
    const { transactions } = await this.#block(block, true);
    if (!Array.isArray(transactions)) {
      throw this.#ofBlock.invalid("no transactions");
    }
    return transactions.flatMap((transaction) => {
      try {
        return seenTransaction(transaction, this.#ofBlock);
      } catch (error) {
        return fallbackTo([], ({ kind }) => kind === "rpc")(error);
      }
    });
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
      throw this.#blockNotFound(block);
    }
    return found;
  }

  #baseFeeOf({ baseFeePerGas }: FoundBlock): bigint | undefined {
    return baseFeePerGas === undefined || baseFeePerGas === null
      ? undefined
      : this.#ofBlock.quantity(baseFeePerGas);
  }

  async #count(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<number> {
    return this.parser(method).number(await this.request(method, params));
  }
}

type FoundBlock = Readonly<Record<string, unknown>>;

/** Some chains write the status as a decimal text or as a boolean. */
function isSuccess(status: unknown, read: ResponseParser): boolean {
  return typeof status === "boolean"
    ? status
    : read.quantity(
        status === "0" || status === "1" ? Number(status) : status,
      ) === 1n;
}

const BLOCK_METHOD = "eth_getBlockByNumber";

function seenTransaction(
  transaction: unknown,
  read: ResponseParser,
): SeenTransaction {
  const fields = read.record(transaction);
  const { hash, from, to, nonce, blockNumber, gasPrice } = fields;
  // Older nodes name it `data`.
  const input = fields["input"] ?? fields["data"];
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
    gasPrice:
      gasPrice === null || gasPrice === undefined
        ? undefined
        : read.quantity(gasPrice),
  };
}

export function toBlockId(block: BlockId): string {
  return typeof block === "number" ? toQuantity(block) : block;
}

/** Shows a hex quantity as a decimal number. */
export function describeBlock(block: BlockId): string {
  return typeof block === "string" && block.startsWith("0x")
    ? BigInt(block).toString()
    : String(block);
}
