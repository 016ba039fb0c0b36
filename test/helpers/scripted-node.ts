import {
  AbiCoder,
  Interface,
  Transaction,
  Wallet,
  id,
  toQuantity as hex,
} from "ethers";

import {
  SimulationLensArtifact,
  VaultLensArtifact,
} from "../../src/client/lens/artifact.js";
import { operations } from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { BareHost } from "./bare-host.js";
import type { HostSettings } from "./bare-host.js";
import { fieldsOf, listOf } from "./fields.js";
import type { RpcHandler } from "./rpc-server.js";

export const VAULT = "0x00000000000000000000000000000000000000A1";
export const FACTORY = "0x00000000000000000000000000000000000000A2";
export const KEY = `0x${"11".repeat(32)}`;
export const SETTLER = new Wallet(KEY).address;
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
interface Contracts {
  readonly answerOf: (call: ContractCall) => ContractAnswer;
  /** Code of an address at a block, 0x hex. */
  readonly codeOf: (address: string, block: number) => string;
}

export interface ScriptedNodeOptions extends Partial<Contracts> {
  /** The latest block; blocks are mined if there is none. */
  readonly head?: number;
  /** False for a node that refuses state overrides. */
  readonly overrides?: boolean | "ignored";
  /** First block that the node has the state of. */
  readonly oldestState?: number;
  readonly chainId?: number;
}

/** A transaction in the pool. */
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

/** Replaces the answers to a method; `answer` returns the original. */
export type Rewrite = (
  params: readonly unknown[],
  answer: () => Promise<unknown>,
  occurrence: number,
) => unknown;

/** A request, with the block that it names. */
interface AskedRequest {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = "0x70a08231";

const TIME_OF_GENESIS = 1_700_000_000;
const BALANCE = 10n ** 18n;
const BASE_FEE = 7;
const CODE_GAS = 60_000;
const PLAIN_GAS = 21_000;
const GAS_LIMIT = 30_000_000;
const FIRST_HEAD = 5;
/** Codes of geth. */
const REVERTED = 3;
const REFUSED = -32_000;
const UNKNOWN_METHOD = -32_601;
const INVALID_PARAMS = -32_602;

const lens = new Interface(VaultLensArtifact.abi);
const simulationLens = new Interface(SimulationLensArtifact.abi);
const coder = AbiCoder.defaultAbiCoder();

/** The parameter that names a block, by method. */
export const blockParameter: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getBlockByNumber: 0,
  eth_getCode: 1,
  eth_getStorageAt: 2,
  eth_getTransactionCount: 1,
  eth_simulateV1: 1,
};

/**
 * A node in this process. Its contracts return what the options tell, or are a
 * vault whose rounds are settled by what is sent. It executes the lenses as the
 * EVM does, and shares no code with the reader of its answers.
 */
export class ScriptedNode implements Eip1193Provider {
  /** The round as each block leaves it. */
  public rounds: VaultRound[] = Array.from(
    { length: FIRST_HEAD + 1 },
    () => OPEN_ROUND,
  );
  public mined: Mined[] = [];
  public pool: Waiting[] = [];
  /** Whether a transaction is mined at once. */
  public mines = true;
  /** Whether calls take state overrides, and `eth_simulateV1` is there. */
  public overrides: boolean | "ignored";
  /** The change of the round by a settlement. */
  public effect = settledRound;
  /** Data that settleAll reverts with; a settled round always reverts. */
  public revertsWith: string | undefined;
  public readonly asked: AskedRequest[] = [];
  readonly #rewrites = new Map<string, Rewrite>();
  readonly #contracts: Contracts;
  readonly #chainId: number;

  constructor(private readonly options: ScriptedNodeOptions = {}) {
    this.overrides = options.overrides ?? true;
    this.#chainId = options.chainId ?? 31_337;
    const answerOf: Contracts["answerOf"] =
      options.answerOf ?? ((call) => this.#vaultAnswer(call));
    this.#contracts = {
      answerOf: (call) =>
        answerOf({ ...call, block: Math.min(call.block, this.head) }),
      codeOf: options.codeOf ?? codeOfVault,
    };
  }

  public get provider(): Eip1193Provider {
    return this;
  }

  public get head(): number {
    return this.options.head ?? this.rounds.length - 1;
  }

  public get round(): VaultRound {
    return this.rounds.at(-1) ?? OPEN_ROUND;
  }

  public async request({
    method,
    params = [],
  }: Parameters<Eip1193Provider["request"]>[0]): Promise<unknown> {
    const occurrence = this.count(method);
    const given = [...params];
    this.asked.push({ method, params: given });
    const answer = async (): Promise<unknown> =>
      await this.answerTo(method, given);
    const rewrite = this.#rewrites.get(method);
    return await (rewrite === undefined
      ? answer()
      : rewrite(given, answer, occurrence));
  }

  /** The answer to a request that is not counted, and not rewritten. */
  public async answerTo(
    method: string,
    params: readonly unknown[],
  ): Promise<unknown> {
    return await Promise.resolve().then(() => this.#answer(method, params));
  }

  public on(method: string, rewrite: Rewrite): void {
    this.#rewrites.set(method, rewrite);
  }

  /** How often a method was requested. */
  public count(method: string): number {
    return this.asked.filter((one) => one.method === method).length;
  }

  /** The block that a request names, if it names one. */
  public blockOf({ method, params }: AskedRequest): number | undefined {
    const place = blockParameter[method];
    return place === undefined ? undefined : this.#numberOf(params[place]);
  }

  /** A host over it, its signer's key in the configuration unless changed. */
  public host(settings: HostSettings): BareHost {
    return new BareHost(
      this,
      { vault: VAULT, vaultFactory: FACTORY },
      SETTLER,
      settings,
    );
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

  #numberOf(tag: unknown): number {
    return tag === "earliest"
      ? 0
      : tag === "pending"
        ? this.head + 1
        : typeof tag === "string" && tag.startsWith("0x")
          ? Number(tag)
          : this.head;
  }

  #answer(method: string, params: readonly unknown[]): unknown {
    const [first, second] = params;
    const block = this.blockOf({ method, params }) ?? this.head;
    const isMissing = block > this.head && !params.includes("pending");
    if (method === "eth_getBlockByNumber") {
      return isMissing ? null : this.#block(block, second);
    }
    if (isMissing) {
      throw rpcError(REFUSED, "header not found");
    }
    if (method in blockParameter && block < (this.options.oldestState ?? 0)) {
      throw rpcError(REFUSED, `missing trie node at ${block}`);
    }
    switch (method) {
      case "web3_clientVersion":
        return "scripted/1.0.0";
      case "eth_accounts":
        return [SETTLER];
      case "eth_chainId":
        return hex(this.#chainId);
      case "eth_blockNumber":
        return hex(this.head);
      case "eth_getBalance":
        return hex(BALANCE);
      case "eth_gasPrice":
        return hex(1_000_000_000);
      case "eth_maxPriorityFeePerGas":
        return hex(1);
      case "eth_feeHistory":
        // No block has a transaction that paid.
        return { baseFeePerGas: [], gasUsedRatio: [], reward: [] };
      case "eth_getCode":
        return this.#contracts.codeOf(String(first), block);
      case "eth_call":
        if (params.length > 2 && this.overrides === false) {
          throw rpcError(INVALID_PARAMS, "too many arguments");
        }
        return this.#call(params, block);
      case "eth_estimateGas":
        this.#call([first], block);
        return hex(CODE_GAS);
      case "eth_simulateV1":
        if (this.overrides !== true) {
          throw rpcError(UNKNOWN_METHOD, "Method not found");
        }
        return this.#simulate(params);
      case "eth_getTransactionCount":
        return hex(this.#nonce(String(first), second));
      case "eth_sendRawTransaction":
        return this.#sendRaw(Transaction.from(String(first)));
      case "eth_sendTransaction":
        return this.#send(fieldsOf(first));
      case "eth_getTransactionReceipt":
        return this.#receipt(String(first));
      case "eth_getTransactionByHash":
        return this.#transaction(String(first));
      default:
        throw rpcError(UNKNOWN_METHOD, `the method ${method} does not exist`);
    }
  }

  #vaultAnswer({ to, data, block, phase }: ContractCall): ContractAnswer {
    const round = this.rounds[block] ?? OPEN_ROUND;
    if (data.startsWith(SETTLE) && isSame(to, VAULT)) {
      const reverted = round.settled || this.revertsWith !== undefined;
      return {
        reverted,
        data: reverted ? (this.revertsWith ?? "0x12345678") : "0x",
      };
    }
    return valuesAnswer(data, phase === "after" ? this.effect(round) : round);
  }

  #nonce(account: string, tag: unknown): number {
    const newest = this.#numberOf(tag);
    return [
      ...this.mined.filter(({ blockNumber }) => blockNumber <= newest),
      ...(tag === "pending" ? this.pool : []),
    ].filter(({ from }) => isSame(from, account)).length;
  }

  #send(sent: Readonly<Record<string, unknown>>): string {
    const from = String(sent["from"]);
    const nonce = Number(sent["nonce"] ?? this.#nonce(from, "pending"));
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
    if (nonce < this.#nonce(from, "latest")) {
      throw rpcError(REFUSED, "nonce too low");
    }
    this.pool.push(waiting);
    if (this.mines) {
      this.mine();
    }
    return waiting.hash;
  }

  #sendRaw({ from, to, data, nonce, hash }: Transaction): string {
    return this.#send({ from, to, data, nonce, hash });
  }

  #receipt(hash: string): unknown {
    const found = this.mined.find((one) => one.hash === hash);
    if (found === undefined) {
      return null;
    }
    const inBlock = this.#minedIn(found.blockNumber);
    const index = inBlock.indexOf(found);
    return {
      transactionHash: hash,
      blockNumber: hex(found.blockNumber),
      blockHash: hashOf(found.blockNumber),
      gasUsed: hex(found.gasUsed),
      status: found.succeeded ? "0x1" : "0x0",
      transactionIndex: hex(index),
      cumulativeGasUsed: hex(sumOfGas(inBlock.slice(0, index + 1))),
      effectiveGasPrice: "0x1",
      logs:
        found.succeeded && found.data === SETTLE ? [transferLog(VAULT)] : [],
    };
  }

  #transaction(hash: string): unknown {
    const found = [...this.mined, ...this.pool].find(
      (one) => one.hash === hash,
    );
    return found === undefined ? null : describeTransaction(found);
  }

  #minedIn(number: number): readonly Mined[] {
    return this.mined.filter(({ blockNumber }) => blockNumber === number);
  }

  #block(number: number, whole: unknown): unknown {
    const isPending = number > this.head;
    const transactions = isPending ? this.pool : this.#minedIn(number);
    return {
      number: hex(number),
      timestamp: hex(TIME_OF_GENESIS + number),
      hash: isPending ? null : hashOf(number),
      gasLimit: hex(GAS_LIMIT),
      gasUsed: hex(sumOfGas(this.#minedIn(number))),
      baseFeePerGas: hex(BASE_FEE),
      transactions: transactions.map((one) =>
        whole === true ? describeTransaction(one) : one.hash,
      ),
    };
  }

  /** An entry of a lens' answer for a call inside it. */
  #entryOf(
    [to, data]: readonly [string, string],
    block: number,
    phase: ContractCall["phase"] = "before",
    time?: unknown,
  ): string {
    return encodeEntry(
      this.#tokenAnswer(data, block, time) ??
        this.#contracts.answerOf({ to, data, block, phase }),
      this.#contracts.codeOf(to, block) !== "0x",
    );
  }

  #call(params: readonly unknown[], block: number): string {
    const { to, data } = fieldsOf(params[0]);
    const call = { to: String(to), data: String(data) };
    const isReplaced = params.length > 2 && this.overrides === true;
    const asked = isReplaced ? lens.parseTransaction(call) : null;
    // ethers types what it decodes as any.
    const args: readonly unknown[] = asked?.args.toArray() ?? [];
    if (asked?.name === "readCalls") {
      const entries = pairsOf(args[0]).map((each) =>
        this.#entryOf(each, block),
      );
      return this.#lensOutput(block, entries);
    }
    if (asked?.name === "readOrders") {
      const [trading, first, count] = args;
      const { selector } = operations.getOrderInfo;
      const entries = Array.from({ length: Number(count) }, (_, index) => {
        const orderID = word(BigInt(String(first)) + BigInt(index));
        return this.#entryOf([String(trading), `${selector}${orderID}`], block);
      });
      return this.#lensOutput(block, entries);
    }
    const { reverted, data: returned } = this.#contracts.answerOf({
      ...call,
      block,
      phase: "before",
    });
    if (reverted) {
      throw rpcError(REVERTED, "execution reverted", returned);
    }
    return returned;
  }

  #simulate(params: readonly unknown[]): unknown {
    const { blockStateCalls } = fieldsOf(params[0]);
    return listOf(blockStateCalls).map((item) => {
      const { blockOverrides, calls } = fieldsOf(item);
      const { number, time } = fieldsOf(blockOverrides);
      const block = Number(number) - 1;
      let phase: ContractCall["phase"] = "before";
      return {
        number,
        timestamp: time,
        calls: listOf(calls).map((call) => {
          const { to, input } = fieldsOf(call);
          const [target, data] = [String(to), String(input)];
          const isSettlement = data === SETTLE;
          const { reverted, data: returnData } =
            this.#tokenAnswer(data, block, time) ??
            this.#contracts.answerOf({ to: target, data, block, phase });
          phase = isSettlement && !reverted ? "after" : phase;
          return {
            status: hex(reverted ? 0 : 1),
            returnData,
            gasUsed: hex(CODE_GAS),
            logs: isSettlement && !reverted ? [transferLog(target)] : [],
            ...(reverted
              ? {
                  error: {
                    code: REVERTED,
                    message: "execution reverted",
                    data: returnData,
                  },
                }
              : {}),
          };
        }),
      };
    });
  }

  /** The answer of any token, and of the lens to a call of itself. */
  #tokenAnswer(
    data: string,
    block: number,
    time: unknown = TIME_OF_GENESIS + block + 1,
  ): ContractAnswer | undefined {
    if (data.startsWith(BALANCE_OF)) {
      return { reverted: false, data: wordsOf(BALANCE) };
    }
    const asked = simulationLens.parseTransaction({ data });
    if (asked?.name !== "factsOf") {
      return undefined;
    }
    const accounts: unknown = asked.args[0];
    return {
      reverted: false,
      data: wordsOf(
        block + 1,
        Number(time),
        this.#chainId,
        BASE_FEE,
        ...listOf(accounts).flatMap((account) => {
          const code = this.#contracts.codeOf(
            String(account).toLowerCase(),
            block,
          );
          return [BALANCE, (code.length - 2) / 2];
        }),
      ),
    };
  }

  #lensOutput(block: number, entries: readonly string[]): string {
    return [
      id("hardhat-vault/VaultLens/1"),
      ...[block, TIME_OF_GENESIS + block, this.#chainId].map(word),
      ...entries,
    ].join("");
  }
}

/** An answer to a call of a known operation; 0 for a missing value. */
function valuesAnswer(data: string, values: object): ContractAnswer {
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

function transferLog(from: string): unknown {
  return {
    address: from,
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

function codeOfVault(address: string): string {
  return [VAULT, FACTORY].some((known) => isSame(known, address))
    ? "0x60"
    : "0x";
}

function hashOf(block: number): string {
  return block === 0 ? GENESIS : id(`block ${block}`);
}

function sumOfGas(mined: readonly Mined[]): number {
  return mined.reduce((sum, { gasUsed }) => sum + gasUsed, 0);
}

function isSame(address: string, other: string): boolean {
  return address.toLowerCase() === other.toLowerCase();
}

/** Hex without 0x: a word of status, code and length, then the data. */
function encodeEntry(
  { reverted, data }: ContractAnswer,
  hasCode: boolean,
): string {
  const length = (data.length - 2) / 2;
  return `${reverted ? "00" : "01"}${hasCode ? "01" : "00"}${length
    .toString(16)
    .padStart(60, "0")}${data.slice(2)}`;
}

function pairsOf(calls: unknown): ReadonlyArray<readonly [string, string]> {
  return listOf(calls).map((call) => {
    const [target, data] = listOf(call);
    return [String(target), String(data)];
  });
}

function rpcError(code: number, message: string, data?: string): Error {
  return Object.assign(new Error(message), {
    code,
    ...(data === undefined ? {} : { data }),
  });
}

/** Hex without 0x. */
function word(value: bigint | number): string {
  return value.toString(16).padStart(64, "0");
}

function wordsOf(...values: ReadonlyArray<bigint | number>): string {
  return `0x${values.map(word).join("")}`;
}

/** Lets a server over HTTP answer as a node in this process does. */
export function handlerOf(node: Eip1193Provider): RpcHandler {
  return async ({ request }) => {
    try {
      return { result: await node.request(request) };
    } catch (error) {
      const { code, data } = fieldsOf(error);
      const message = error instanceof Error ? error.message : String(error);
      return { error: { code: Number(code), message, data } };
    }
  };
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
  return coder.encode(types, [exType, holder, ...numbers]);
}

/** Return data of every read, by selector, built from the protocol by hand. */
const documentedData: Readonly<Record<string, string>> = {
  "0xc138aa5f": wordsOf(1),
  "0x2016e80b": wordsOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 1),
  "0xd311636b": orderWords({ exType: Buffer.from("BTC-USDT") }),
  "0xb6624fb0": wordsOf(1, 2),
  "0x53ac2d24": wordsOf(1, 2, 3),
  "0xa69590a8": wordsOf(1),
  "0xea17f924": wordsOf(1, 2),
  "0x789f4b5a": wordsOf(1),
};

/** Addresses for a network whose node is {@link documentedNode}. */
export const documentedContracts = {
  underlyingAsset: "0x0000000000000000000000000000000000000001",
  publicPool: "0x0000000000000000000000000000000000000002",
  privatePool: "0x0000000000000000000000000000000000000003",
  trading: "0x0000000000000000000000000000000000000004",
  vaultFactory: "0x0000000000000000000000000000000000000005",
  vault: "0x0000000000000000000000000000000000000006",
} as const;

/** The latest block of {@link documentedNode}. */
export const DOCUMENTED_BLOCK = {
  number: 1_000,
  timestamp: TIME_OF_GENESIS + 1_000,
};

export function documentedAnswer({ data }: ContractCall): ContractAnswer {
  return {
    reverted: false,
    data: documentedData[data.slice(0, 10)] ?? "0x",
  };
}

/** A node whose contracts return the data above; it ignores overrides. */
export function documentedNode(
  options: ScriptedNodeOptions = {},
): ScriptedNode {
  return new ScriptedNode({
    chainId: 1,
    head: DOCUMENTED_BLOCK.number,
    overrides: "ignored",
    codeOf: () => "0x01",
    answerOf: documentedAnswer,
    ...options,
  });
}

export const documentedHandler: RpcHandler = handlerOf(documentedNode());
