import {
  Interface,
  Transaction,
  getAddress,
  id,
  toQuantity as hex,
} from "ethers";

import type { ContractAddresses } from "../../src/client/index.js";
import { VaultLensArtifact } from "../../src/client/lens/artifact.js";
import { operations } from "../../src/protocol/index.js";
import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import { BareHost } from "./bare-host.js";
import { fieldsOf, listOf } from "./fields.js";
import type { RpcHandler } from "./rpc-server.js";
import {
  BASE_FEE,
  CODE_GAS,
  REFUSED,
  ScriptedChain,
  rpcError,
  transferLog,
} from "./scripted-chain.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  TIME_OF_GENESIS,
  VAULT,
  codeOfVault,
  isSame,
  valuesAnswer,
  word,
  wordsOf,
} from "./scripted-contracts.js";
import type {
  ContractAnswer,
  ContractCall,
  Contracts,
} from "./scripted-contracts.js";

export interface ScriptedNodeOptions extends Partial<Contracts> {
  /** The latest block; blocks are mined if there is none. */
  readonly head?: number;
  /** False for a node that refuses state overrides. */
  readonly overrides?: boolean | "ignored";
  /** False for a node that takes no hashes of blocks. */
  readonly hashes?: boolean;
  /** First block that the node has the state of. */
  readonly oldestState?: number;
  readonly chainId?: number;
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

const BALANCE = 10n ** 18n;
const REVERTED = 3;
const UNKNOWN_METHOD = -32_601;
const INVALID_PARAMS = -32_602;

const lens = new Interface(VaultLensArtifact.abi);

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
export class ScriptedNode extends ScriptedChain implements Eip1193Provider {
  /** Whether calls take state overrides, and `eth_simulateV1` is there. */
  public overrides: boolean | "ignored";
  public readonly asked: AskedRequest[] = [];
  readonly #rewrites = new Map<string, Rewrite>();
  readonly #contracts: Contracts;
  readonly #chainId: number;
  /** What the lens has lent in a simulation. */
  readonly #lent = new Map<string, bigint>();

  constructor(private readonly options: ScriptedNodeOptions = {}) {
    super(options.head);
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

  /** Answers as anvil does. */
  public makeDevelopmentNode(): void {
    const hash = `0x${"ab".repeat(32)}`;
    this.on("hardhat_metadata", () => ({
      clientVersion: "anvil/v1.7.1",
      chainId: this.#chainId,
      instanceId: hash,
      latestBlockNumber: this.head,
      latestBlockHash: hash,
    }));
  }

  public count(method: string): number {
    return this.asked.filter((one) => one.method === method).length;
  }

  public blockOf({ method, params }: AskedRequest): number | undefined {
    const place = blockParameter[method];
    return place === undefined ? undefined : this.numberOf(params[place]);
  }

  /** A vault over it, with these settings of the network. */
  public host({
    contracts = { vault: VAULT, vaultFactory: FACTORY },
    settings = {},
    projectRoot = "",
  }: {
    readonly contracts?: ContractAddresses;
    readonly settings?: Readonly<Record<string, unknown>>;
    readonly projectRoot?: string;
  } = {}): BareHost {
    const networkConfig = {
      type: "http",
      ...{ gas: "auto", gasPrice: "auto", gasMultiplier: 1 },
      ...settings,
    };
    const hardhat = { networkConfig, projectRoot };
    return new BareHost(this, contracts, SETTLER, hardhat);
  }

  #answer(method: string, params: readonly unknown[]): unknown {
    const [first, second] = params;
    const named: unknown = params[blockParameter[method] ?? Infinity];
    if (this.options.hashes === false && typeof named === "object") {
      throw rpcError(REFUSED, "invalid block parameter");
    }
    const block = this.blockOf({ method, params }) ?? this.head;
    const isMissing = block > this.head && !params.includes("pending");
    if (method === "eth_getBlockByNumber") {
      return isMissing ? null : this.describeBlock(block, second);
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
        return this.feeHistory(Number(first), this.numberOf(second));
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
        return hex(this.nonceOf(String(first), second));
      case "eth_sendRawTransaction":
        return this.sendRaw(Transaction.from(String(first)));
      case "eth_sendTransaction":
        return this.send(fieldsOf(first));
      case "eth_getTransactionReceipt":
        return this.receiptOf(String(first));
      case "eth_getTransactionByHash":
        return this.transactionOf(String(first));
      default:
        throw rpcError(UNKNOWN_METHOD, `the method ${method} does not exist`);
    }
  }

  #vaultAnswer({ to, data, block, phase }: ContractCall): ContractAnswer {
    if (this.options.codeOf?.(to, block) === "0x") {
      return { reverted: false, data: "0x" };
    }
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

  /** An entry of a lens' answer for a call inside it. */
  #entryOf([to, data]: readonly [string, string], block: number): string {
    return encodeEntry(
      this.#tokenAnswer(data, block) ??
        this.#contracts.answerOf({ to, data, block, phase: "before" }),
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
    if (asked?.name === "readCalls" || asked?.name === "readOrders") {
      const inside =
        asked.name === "readCalls" ? callsIn(call.data) : readsOf(args);
      return [
        id("hardhat-vault/VaultLens/3"),
        ...[block, TIME_OF_GENESIS + block, this.#chainId].map(word),
        ...inside.map((each) => this.#entryOf(each, block)),
      ].join("");
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
      this.#lent.clear();
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
    const asked = lens.parseTransaction({ data });
    if (asked?.name === "lend") {
      const [account, needed] = [
        String(asked.args[0]),
        BigInt(String(asked.args[1])),
      ];
      const code = this.#contracts.codeOf(account.toLowerCase(), block);
      if (BALANCE < needed || code !== "0x") {
        this.#lent.set(account, needed);
      }
      return { reverted: false, data: "0x" };
    }
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
          const lent = this.#lent.get(String(account)) ?? 0n;
          return [BALANCE + lent, (code.length - 2) / 2];
        }),
      ),
    };
  }
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

/** The calls that `readCalls` is asked for: their number, and of each target, length and data. */
function callsIn(data: string): ReadonlyArray<readonly [string, string]> {
  const found: Array<readonly [string, string]> = [];
  let rest = data.slice(14);
  for (let left = Number(`0x${data.slice(10, 14)}`); left > 0; left -= 1) {
    const end = 44 + 2 * Number(`0x${rest.slice(40, 44)}`);
    found.push([
      getAddress(`0x${rest.slice(0, 40)}`),
      `0x${rest.slice(44, end)}`,
    ]);
    rest = rest.slice(end);
  }
  return found;
}

/** The calls for the orders that `readOrders` is asked for. */
function readsOf([trading, first, count, ids]: readonly unknown[]) {
  const listed = listOf(ids).map((one) => BigInt(String(one)));
  const { selector } = operations.getOrderInfo;
  return Array.from({ length: Number(count) }, (_, index) => {
    const next = BigInt(String(first)) + BigInt(index);
    const data = `${selector}${word(listed[index] ?? next)}`;
    return [String(trading), data] as const;
  });
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
