import { Buffer } from "node:buffer";

import { dataSlice, getAddress, id, isHexString } from "ethers";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { NOBODYS_ADDRESS, parseFacts } from "../../client/lens/facts.js";
import { lensCode } from "../../client/lens/lens.js";
import { fallbackTo } from "../../errors.js";
import type { VaultHost } from "../../host.js";
import { asRecord } from "../../json.js";
import { toBlockId } from "../../rpc/block-id.js";
import type { BlockInfo, NextBlock } from "../../rpc/blocks.js";
import { callContract } from "../../rpc/calls.js";
import type { CallResult } from "../../rpc/calls.js";
import { isRefusedAnyhow, refusesParameters } from "../../rpc/errors.js";
import { ResponseParser } from "../../rpc/response-parser.js";
import { fewRetries } from "../../rpc/retry.js";
import { decodeRevertReason, invalidOpcode } from "../../rpc/revert-reason.js";
import type { KnownNode } from "../../rpc/rpc-client.js";
import { traceCall } from "../../rpc/traces.js";
import { usesAllGas } from "../../settlement-call/outcome.js";
import { INTRINSIC_GAS, settlementCall } from "../../settlement-call/route.js";
import { EngineUnsupportedError, isOutOfGas, beforeRefunds } from "./engine.js";
import type { EngineResult, Offer, SimulationParameters } from "./engine.js";
import { nativeTransfersOf, transfersIn } from "../tokens.js";
import type { Transfer } from "../types.js";
import { readsOf } from "../watch-list.js";

const METHOD = "eth_simulateV1";

/** A node may give a read less: Geth shares 50,000,000 gas among all calls of a request. */
const READ_GAS = 10_000_000n;

/** An unused address, with code that gives its balance away and destroys itself. */
const GIVING_ADDRESS = getAddress(
  dataSlice(id("hardhat-vault/SelfDestruct"), 12),
);
const GIVING_CODE = `0x73${NOBODYS_ADDRESS.slice(2)}ff`;

/** Nodes that cannot simulate correctly, each with the reason. */
const unsupportedNodes = new WeakMap<KnownNode, string>();

/** Error texts of nodes that lack the method or do not allow it. */
const missingMethod =
  /(?:method|eth_\w+).*(?:not (?:found|supported|available|allowed|exist|implemented)|does(?: not|n't) exist|unsupported|disabled)|(?:unknown|unsupported) method/iu;

interface SimulatedCall {
  readonly succeeded: boolean;
  /** Return or revert data, 0x hex. */
  readonly data: string;
  readonly gasUsed: bigint;
  /** Before refunds; undefined if the node does not return it. */
  readonly maxUsedGas: bigint | undefined;
  readonly transfers: readonly Transfer[];
  readonly logs: unknown;
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
  const { vault, route, watched, next, base, offer } = parameters;
  const gas = offer?.gas ?? parameters.gas ?? next.gasLimit;
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, NOBODYS_ADDRESS);
  const readCalls = reads.map(({ target: to, data }) => ({
    from: reader,
    to,
    input: data,
    gas: numberToHexString(READ_GAS),
  }));
  const { data: input, ...settlement } = settlementCall(route);
  // The gas limits of all calls together must fit into the block's.
  const gasLimit = gas + READ_GAS * BigInt(2 * reads.length + 1);
  const answer = await requestSimulation(
    vault,
    {
      blockOverrides: {
        ...blockOverrides(next),
        gasLimit: numberToHexString(gasLimit),
      },
      stateOverrides: {
        [NOBODYS_ADDRESS]: { code: lensCode },
        [GIVING_ADDRESS]: { code: GIVING_CODE, balance: "0x1" },
      },
      calls: [
        ...readCalls,
        {
          ...settlement,
          input,
          gas: numberToHexString(gas),
          ...(offer !== undefined && {
            gasPrice: numberToHexString(offer.gasPrice),
          }),
        },
        ...readCalls,
        {
          from: reader,
          to: GIVING_ADDRESS,
          input: "0x",
          gas: numberToHexString(READ_GAS),
        },
      ],
    },
    base,
  );
  const [block, ...more] = parseSimulated(answer, vault.networkName);
  const settle = block?.calls[reads.length];
  if (
    block === undefined ||
    settle === undefined ||
    more.length > 0 ||
    block.calls.length !== 2 * reads.length + 2 ||
    settle.gasUsed < INTRINSIC_GAS ||
    (settle.maxUsedGas ?? settle.gasUsed) < settle.gasUsed
  ) {
    // One backend of a gateway may have garbled it.
    throw new EngineUnsupportedError(
      `${METHOD} answers something else than it should`,
    );
  }
  requireNextBlock(parameters, block);
  const answersBefore = block.calls.slice(0, reads.length).map(toRead);
  const answersAfter = block.calls.slice(reads.length + 1, -1).map(toRead);
  // The contracts may see another block than the answer states.
  const seen = parseFacts(answersBefore[0], watched.accounts)?.block;
  if (seen === undefined) {
    throw unsupported(vault, `${METHOD} does not apply state overrides`);
  }
  requireNextBlock(parameters, seen);
  const failed = settle.succeeded ? undefined : { ...settle, gasGiven: gas };
  if (failed !== undefined && isOutOfGas(failed) && !usesAllGas(failed)) {
    // Geth shares 50,000,000 gas among all calls of a request.
    throw new EngineUnsupportedError(
      `the node gives ${METHOD} ${failed.gasUsed} gas for settleAll, which uses it up`,
    );
  }
  const { gasUsed, maxUsedGas = beforeRefunds(gasUsed), transfers } = settle;
  const { number, timestamp, baseFeePerGas = 0n } = next;
  const given = block.calls.at(-1)?.transfers ?? [];
  return {
    answersBefore,
    answersAfter,
    feePaid: gasUsed * (offer?.gasPrice ?? 0n),
    hasAllTransfers: given.some(({ from }) => from === GIVING_ADDRESS),
    block: { number, timestamp },
    failed,
    gasUsed,
    gasNeeded: maxUsedGas,
    ...{ transfers, logs: settle.logs },
    notes: [
      // Some nodes ignore the base fee of the request.
      ...(seen.baseFee === baseFeePerGas
        ? []
        : [
            `The node simulates with a base fee of ${seen.baseFee} wei instead of ${baseFeePerGas}: a contract that reads block.basefee can do something else when it is mined.`,
          ]),
    ],
  };
}

/** @returns The answer, not checked. */
async function requestSimulation(
  vault: VaultHost,
  block: object,
  base: number,
): Promise<unknown> {
  const { rpc } = vault;
  const known = unsupportedNodes.get(rpc.node);
  if (known !== undefined) {
    throw new EngineUnsupportedError(known);
  }
  const answered = await rpc
    .withRetries(fewRetries)
    .requestOrRevert(METHOD, [
      { blockStateCalls: [block], traceTransfers: true },
      toBlockId(base),
    ])
    .catch((error: unknown) => {
      if (!isRefusedAnyhow(error)) {
        throw error;
      }
      const problem = String(error.details["problem"]);
      const refused = `the node refuses ${METHOD}: ${problem}`;
      throw missingMethod.test(problem) || refusesParameters(error.cause)
        ? unsupported(vault, refused)
        : new EngineUnsupportedError(refused, { cause: error });
    });
  if ("reverted" in answered) {
    // The method never reverts: some nodes report "out of gas" this way.
    const { text } = answered.reverted;
    throw new EngineUnsupportedError(`${METHOD} as a whole reverts: ${text}`);
  }
  return answered.result;
}

/** Keeps later simulations from asking this node. */
function unsupported(
  { rpc }: VaultHost,
  problem: string,
): EngineUnsupportedError {
  unsupportedNodes.set(rpc.node, problem);
  return new EngineUnsupportedError(problem);
}

function requireNextBlock(
  { vault, next }: SimulationParameters,
  { number, timestamp }: BlockInfo,
): void {
  if (number !== next.number || timestamp !== next.timestamp) {
    throw unsupported(
      vault,
      `asked for block ${next.number} at ${next.timestamp}, ${METHOD} executes in block ${number} at ${timestamp}`,
    );
  }
}

/**
 * Traces the settlement: some nodes list payments that fail inside, and none of a contract
 * that destroys itself.
 *
 * @returns Transfers of native currency; undefined if the node does not trace.
 */
export async function traceNativeTransfers(
  parameters: SimulationParameters,
): Promise<readonly Transfer[] | undefined> {
  const { vault, route, base, next } = parameters;
  const trace = await traceCall(
    vault.rpc.withRetries(fewRetries),
    settlementCall(route),
    base,
    "calls",
    { blockOverrides: blockOverrides(next) },
  ).catch(fallbackTo(undefined, ({ kind }) => kind === "rpc"));
  return trace === undefined ? undefined : nativeTransfersOf(trace);
}

/**
 * Calls the settlement as the transaction would be sent, in the same block.
 *
 * @returns Whether the contract accepts the call, or why not; undefined if the node refuses
 * the call as such, which proves nothing.
 */
export async function callAsSent(
  { vault, route, base, next }: SimulationParameters,
  { gas, gasPrice }: Offer,
): Promise<CallResult | undefined> {
  const call = {
    ...settlementCall(route),
    gas: numberToHexString(gas),
    gasPrice: numberToHexString(gasPrice),
  };
  const rpc = vault.rpc.withRetries(fewRetries);
  return await callContract(rpc, call, base, {}, blockOverrides(next)).catch(
    fallbackTo(undefined, isRefusedAnyhow),
  );
}

function blockOverrides({
  number,
  timestamp,
  baseFeePerGas,
}: NextBlock): Readonly<Record<string, string>> {
  return {
    number: numberToHexString(number),
    time: numberToHexString(timestamp),
    ...(baseFeePerGas !== undefined && {
      baseFeePerGas: numberToHexString(baseFeePerGas),
    }),
  };
}

function toRead(call: SimulatedCall): CallResult {
  const { succeeded, data, message } = call;
  if (succeeded) {
    return { data: Buffer.from(data.slice(2), "hex") };
  }
  if (isOutOfGas({ ...call, gasGiven: READ_GAS })) {
    const orElse =
      message === undefined ? ", or one hits an invalid instruction" : "";
    throw new EngineUnsupportedError(
      `the gas that the node gives ${METHOD} does not suffice for the readings${orElse}`,
    );
  }
  return {
    reverted: invalidOpcode(message ?? "") ?? decodeRevertReason(data),
  };
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
    ...{ transfers, logs },
    message:
      typeof message === "string" &&
      // Code 3 means a revert.
      code !== 3 &&
      !/^(?:VM )?execution (?:failed|reverted|error)\.?$/iu.test(message)
        ? message
        : undefined,
  };
}
