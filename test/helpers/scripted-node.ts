import { AbiCoder, Interface, id } from "ethers";

import {
  SimulationLensArtifact,
  VaultLensArtifact,
} from "../../src/client/lens/artifact.js";
import { operations } from "../../src/protocol/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { fieldsOf, listOf } from "./fields.js";

/** A call that some contract is asked, wherever it is inside a request. */
export interface ContractCall {
  readonly to: string;
  readonly data: string;
  /** Whose state it sees. */
  readonly block: number;
  /** Before or after a settlement that is only simulated. */
  readonly phase: "before" | "after";
}

/** What it answers: data that it returns, or reverts with. */
export interface ContractAnswer {
  readonly reverted: boolean;
  readonly data: string;
}

export interface ScriptedNodeOptions {
  readonly head: number;
  readonly answerOf: (call: ContractCall) => ContractAnswer;
  /** Code of an address, 0x hex. */
  readonly codeOf: (address: string) => string;
  /** False for a node that takes no state overrides. */
  readonly overrides?: boolean;
}

/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = "0x70a08231";

const SCRIPTED_CHAIN = 31_337;
const TIME_OF_GENESIS = 1_700_000_000;
const BALANCE = 10n ** 18n;
const BASE_FEE = 7;
const SETTLE_GAS = 60_000n;
const REVERTED = 3;

const lens = new Interface(VaultLensArtifact.abi);
const simulationLens = new Interface(SimulationLensArtifact.abi);
const coder = AbiCoder.defaultAbiCoder();

/**
 * A node in this process whose contracts answer as told, and which executes the
 * lenses as the EVM does: the same answers whether contracts are asked one by
 * one, all at once or inside a simulation. Nothing here is shared with what reads
 * those answers.
 */
export function scriptedNode(options: ScriptedNodeOptions): Eip1193Provider {
  const { head, overrides = true } = options;
  const numberOf = (tag: unknown): number =>
    tag === "earliest"
      ? 0
      : tag === "pending"
        ? head + 1
        : typeof tag === "string" && tag.startsWith("0x")
          ? Number(tag)
          : head;
  const answer = ({
    method,
    params = [],
  }: Parameters<Eip1193Provider["request"]>[0]): unknown => {
    if (method !== "eth_getBlockByNumber" && numberOf(params[1]) > head + 1) {
      throw rpcError(-32_000, "header not found");
    }
    switch (method) {
      case "eth_chainId":
        return hex(SCRIPTED_CHAIN);
      case "eth_blockNumber":
        return hex(head);
      case "eth_getBlockByNumber":
        return headerOf(numberOf(params[0]), head);
      case "eth_getBalance":
        return hex(BALANCE);
      case "eth_gasPrice":
        return hex(1_000_000_000);
      case "eth_maxPriorityFeePerGas":
        return hex(1);
      case "eth_getCode":
        return options.codeOf(String(params[0]));
      case "eth_call":
        if (params.length > 2 && !overrides) {
          throw rpcError(-32_602, "too many arguments");
        }
        return callOf(params, numberOf(params[1]), options);
      case "eth_simulateV1":
        if (!overrides) {
          throw rpcError(-32_601, "Method not found");
        }
        return simulationOf(params, options);
      default:
        throw rpcError(-32_601, `the method ${method} does not exist`);
    }
  };
  return {
    request: async (args) => {
      await Promise.resolve();
      return answer(args);
    },
  };
}

function headerOf(number: number, head: number): unknown {
  if (number > head + 1) {
    return null;
  }
  return {
    number: hex(number),
    timestamp: hex(TIME_OF_GENESIS + number),
    hash: number > head ? null : id(`block ${number}`),
    gasLimit: hex(30_000_000),
    gasUsed: hex(0),
    baseFeePerGas: hex(BASE_FEE),
    transactions: [],
  };
}

function callOf(
  params: readonly unknown[],
  block: number,
  { head, answerOf, codeOf }: ScriptedNodeOptions,
): string {
  const { to, data } = fieldsOf(params[0]);
  const call = { to: String(to), data: String(data) };
  const entryOf =
    (phase: ContractCall["phase"]) =>
    ([target, inner]: readonly [string, string]): string =>
      encodeEntry(
        lensAnswer(inner, block, codeOf) ??
          answerOf({ to: target, data: inner, block, phase }),
        codeOf(target) !== "0x",
      );
  const selector = call.data.slice(0, 10);
  if (params.length > 2 && selector === selectorOf(lens, "readCalls")) {
    const [calls] = decodeArguments(lens, "readCalls", call.data);
    return lensOutput(block, pairsOf(calls).map(entryOf("before")));
  }
  if (params.length > 2 && selector === selectorOf(lens, "readOrders")) {
    const [trading, first, count] = decodeArguments(
      lens,
      "readOrders",
      call.data,
    );
    const { selector: order } = operations.getOrderInfo;
    return lensOutput(
      block,
      Array.from({ length: Number(count) }, (_, index) =>
        entryOf("before")([
          String(trading),
          `${order}${word(BigInt(String(first)) + BigInt(index)).slice(2)}`,
        ]),
      ),
    );
  }
  if (
    params.length > 2 &&
    selector === selectorOf(simulationLens, "simulate") &&
    // Only what stands in for the sender knows how to simulate.
    call.to === fieldsOf(params[0])["from"]
  ) {
    const [, reads, target, settlement] = decodeArguments(
      simulationLens,
      "simulate",
      call.data,
    );
    const settled = answerOf({
      to: String(target),
      data: String(settlement),
      block,
      phase: "before",
    });
    const [before, after] = (["before", "after"] as const).map((phase) =>
      pairsOf(reads).map(entryOf(phase)).join(""),
    );
    const parts = [settled.data.slice(2), before ?? "", after ?? ""];
    const place = Math.min(head, block) + 1;
    return `0x${[
      id("hardhat-vault/SimulationLens/1"),
      ...[place, TIME_OF_GENESIS + place, SCRIPTED_CHAIN].map(word),
      ...[settled.reverted ? 0 : 1, SETTLE_GAS, 29_000_000].map(word),
      ...parts.map(({ length }) => word(length / 2)),
    ]
      .map((each) => each.slice(2))
      .join("")}${parts.join("")}`;
  }
  const { reverted, data: returned } = answerOf({
    ...call,
    block: Math.min(block, head),
    phase: "before",
  });
  if (reverted) {
    throw rpcError(REVERTED, "execution reverted", returned);
  }
  return returned;
}

function simulationOf(
  params: readonly unknown[],
  { answerOf, codeOf }: ScriptedNodeOptions,
): unknown {
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
        const isSettlement = data === operations.settleAll.selector;
        const answer =
          lensAnswer(data, block, codeOf) ??
          answerOf({ to: target, data, block, phase });
        phase = isSettlement ? "after" : phase;
        return {
          status: hex(answer.reverted ? 0 : 1),
          returnData: answer.data,
          gasUsed: hex(SETTLE_GAS),
          logs: isSettlement && !answer.reverted ? [transferLog(target)] : [],
          ...(answer.reverted
            ? {
                error: {
                  code: REVERTED,
                  message: "execution reverted",
                  data: answer.data,
                },
              }
            : {}),
        };
      }),
    };
  });
}

/** What the lens itself answers, to whoever it is asked of. */
function lensAnswer(
  data: string,
  block: number,
  codeOf: ScriptedNodeOptions["codeOf"],
): ContractAnswer | undefined {
  const selector = data.slice(0, 10);
  const answerWith = (...values: ReadonlyArray<bigint | number>) => ({
    reverted: false,
    data: `0x${values.map((value) => word(value).slice(2)).join("")}`,
  });
  switch (selector) {
    case BALANCE_OF:
      return answerWith(BALANCE);
    case selectorOf(simulationLens, "factsOf"): {
      const [accounts] = decodeArguments(simulationLens, "factsOf", data);
      return answerWith(
        block + 1,
        TIME_OF_GENESIS + block + 1,
        SCRIPTED_CHAIN,
        BASE_FEE,
        ...listOf(accounts).flatMap((account) => [
          BALANCE,
          (codeOf(String(account).toLowerCase()).length - 2) / 2,
        ]),
      );
    }
    default:
      return undefined;
  }
}

export function transferLog(from: string): unknown {
  return {
    address: from,
    topics: [
      id("Transfer(address,address,uint256)"),
      coder.encode(["address"], [from]),
      coder.encode(["address"], [from]),
    ],
    data: word(5),
  };
}

function lensOutput(block: number, entries: readonly string[]): string {
  return `0x${[
    id("hardhat-vault/VaultLens/1"),
    ...[block, TIME_OF_GENESIS + block, SCRIPTED_CHAIN].map(word),
  ]
    .map((each) => each.slice(2))
    .join("")}${entries.join("")}`;
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

/** Of a function by its name. */
function selectorOf(contract: Interface, name: string): string | undefined {
  return contract.getFunction(name)?.selector;
}

/** What a function of that name is called with. */
function decodeArguments(
  contract: Interface,
  name: string,
  data: string,
): readonly unknown[] {
  // ethers types what it decodes as any.
  const values: readonly unknown[] = contract.decodeFunctionData(name, data);
  return [...values];
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

function hex(value: bigint | number): string {
  return `0x${value.toString(16)}`;
}

function word(value: bigint | number): string {
  return `0x${value.toString(16).padStart(64, "0")}`;
}
