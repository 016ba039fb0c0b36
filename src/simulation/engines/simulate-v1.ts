import { Buffer } from "node:buffer";

import { isHexString } from "ethers";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import {
  NOBODYS_ADDRESS,
  simulationLensCode,
} from "../../client/lens/simulation-lens.js";
import { fallbackTo } from "../../errors.js";
import { asRecord } from "../../json.js";
import type { BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/calls.js";
import { ResponseParser } from "../../rpc/response-parser.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import { RAISED_GAS_LIMIT, beforeRefunds } from "../engine.js";
import { INTRINSIC_GAS, settlementCall } from "../../settlement-call/route.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { isOutOfGas } from "../find-refusal.js";
import { transfersIn } from "../tokens.js";
import type { Transfer } from "../types.js";
import { readsOf } from "../watch-list.js";
import { blockOverrides, simulateOnNode } from "./on-node.js";

const METHOD = "eth_simulateV1";

/** A node may give a read less: Geth shares 50,000,000 gas among all calls of a request. */
const READ_GAS = 10_000_000n;

interface SimulatedCall {
  readonly succeeded: boolean;
  /** Return or revert data, 0x hex. */
  readonly data: string;
  readonly gasUsed: bigint;
  /** Before refunds; undefined if the node does not return it. */
  readonly maxUsedGas: bigint | undefined;
  readonly transfers: readonly Transfer[];
  readonly message: string | undefined;
}

/**
 * Simulates with `eth_simulateV1`: the reads, the settlement and the reads again are
 * calls of one block. Callers are exact and have no code; gas and logs are exact, too.
 *
 * @throws EngineUnsupportedError if the node cannot simulate correctly
 */
export async function runSimulateV1(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const { vault, route, watched, next } = parameters;
  const { gas: gasGiven = next.gasLimit } = parameters;
  const { from } = vault.readContext({});
  const reads = readsOf(watched, NOBODYS_ADDRESS);
  const readCalls = reads.map(({ target: to, data }) => ({
    from,
    to,
    input: data,
    gas: numberToHexString(READ_GAS),
  }));
  const { data: input, ...settlement } = settlementCall(route);
  const gasLimit = gasGiven + READ_GAS * BigInt(2 * reads.length);
  const block = {
    // The gas limits of all calls together must fit into the block's.
    blockOverrides: {
      ...blockOverrides(parameters),
      gasLimit: numberToHexString(gasLimit),
    },
    stateOverrides: { [NOBODYS_ADDRESS]: { code: simulationLensCode } },
    calls: [
      ...readCalls,
      { ...settlement, input, gas: numberToHexString(gasGiven) },
      ...readCalls,
    ],
  };
  const params = [
    { blockStateCalls: [block], traceTransfers: true },
    numberToHexString(next.number - 1),
  ];
  const parse = (result: unknown) => {
    const [simulated, ...more] = parseSimulated(result, vault.networkName);
    const settle = simulated?.calls[reads.length];
    if (
      simulated === undefined ||
      settle === undefined ||
      more.length > 0 ||
      simulated.calls.length !== block.calls.length ||
      settle.gasUsed < INTRINSIC_GAS ||
      (settle.maxUsedGas ?? settle.gasUsed) < settle.gasUsed
    ) {
      return undefined;
    }
    const { gasUsed, maxUsedGas = beforeRefunds(gasUsed) } = settle;
    return {
      block: simulated,
      failed: settle.succeeded ? undefined : { ...settle, gasGiven },
      gasUsed,
      gasNeeded: maxUsedGas,
      transfers: settle.transfers,
      before: simulated.calls.slice(0, reads.length).map(toRead),
      after: simulated.calls.slice(reads.length + 1).map(toRead),
      notes: [RAISED_GAS_LIMIT],
    };
  };
  return await simulateOnNode(parameters, METHOD, reads.length, params, parse);
}

/** @returns Undefined if it ran out of gas. */
function toRead(call: SimulatedCall): CallResult | undefined {
  const { succeeded, data } = call;
  if (succeeded) {
    return { data: Buffer.from(data.slice(2), "hex") };
  }
  return isOutOfGas({ ...call, gasGiven: READ_GAS })
    ? undefined
    : { reverted: decodeRevertReason(data) };
}

/** @returns An empty list if the answer has another form. */
export function parseSimulated(
  answer: unknown,
  network: string,
): ReadonlyArray<BlockInfo & { readonly calls: readonly SimulatedCall[] }> {
  const read = new ResponseParser(network, METHOD);
  try {
    return read.list(answer).map((item) => {
      const { number, timestamp, calls } = asRecord(item);
      return {
        number: read.number(number),
        timestamp: read.number(timestamp),
        calls: read.list(calls).map((call) => parseCall(call, read)),
      };
    });
  } catch (error) {
    return fallbackTo(
      [],
      ({ code }) => code === "VAULT_RPC_INVALID_RESPONSE",
    )(error);
  }
}

function parseCall(item: unknown, read: ResponseParser): SimulatedCall {
  const { status, returnData, gasUsed, maxUsedGas, logs, error } =
    asRecord(item);
  const transfers = transfersIn(logs ?? []);
  const { data, message, code } = asRecord(error);
  if (!isHexString(returnData, true) || transfers === undefined) {
    throw read.invalid("a call without data or logs");
  }
  return {
    succeeded: read.quantity(status) === 1n,
    data:
      // Geth returns revert data in the error, anvil in the result.
      [data, returnData].find(
        (hex): hex is string => isHexString(hex, true) && hex !== "0x",
      ) ?? "0x",
    gasUsed: read.quantity(gasUsed),
    maxUsedGas:
      maxUsedGas === undefined ? undefined : read.quantity(maxUsedGas),
    transfers,
    message:
      typeof message === "string" &&
      // Code 3 means a revert.
      code !== 3 &&
      !/^execution (?:failed|reverted)$/iu.test(message)
        ? message
        : undefined,
  };
}
