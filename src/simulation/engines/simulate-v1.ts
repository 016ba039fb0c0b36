import type { Buffer } from "node:buffer";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { isHexString } from "ethers";

import {
  NOBODYS_ADDRESS,
  lendCall,
  lensCode,
  loanFor,
} from "../../client/lens/lens.js";
import type { ReadCall } from "../../client/lens/lens.js";
import { fallbackTo } from "../../errors.js";
import { INTRINSIC_GAS, settlementCall } from "../../guard/call.js";
import { beforeRefunds, isOutOfGas, usesAllGas } from "../../guard/refusal.js";
import { asRecord } from "../../json.js";
import { readOnBranch, requestAt } from "../../rpc/blocks.js";
import type { Header, BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/revert-reason.js";
import { allowsAnotherRequest } from "../../rpc/errors.js";
import { fewRetries, ResponseParser } from "../../rpc/rpc-client.js";
import type { Answered, RpcClient } from "../../rpc/rpc-client.js";
import { decodeRevertReason, invalidOpcode } from "../../rpc/revert-reason.js";
import { gainOf, transfersIn } from "../tokens.js";
import type { Attempt, Execute, WatchList } from "../types.js";
import { accountIn } from "../watch-list.js";

const METHOD = "eth_simulateV1";

/** A node may give a read less: Geth shares 50,000,000 gas among all calls of a request. */
const READ_GAS = 10_000_000n;
const READ_GAS_HEX = numberToHexString(READ_GAS);

/**
 * Simulates with `eth_simulateV1`: the reads, a loan to a sender who needs one, the
 * settlement, and the reads again are calls of one block. Callers and price are exact; gas
 * and logs, too.
 */
export const executeBySimulateV1: Execute = async (vault, attempt, watched) => {
  const { rpc, networkName } = vault;
  const { route, gas, gasPrice, next } = attempt;
  const { number, timestamp } = next;
  const payload = blockOf(attempt, watched, vault.readContext({}).from);
  const answer = await request(rpc, next.base, payload);
  if ("unavailable" in answer) {
    return answer;
  }
  const [block, ...more] = parseSimulated(answer.result, networkName);
  const count = watched.reads.length;
  const { calls = [] } = block ?? {};
  const [lend, settle] = calls.slice(count);
  const transfers = transfersIn(settle?.logs);
  if (
    block === undefined ||
    lend === undefined ||
    settle === undefined ||
    transfers === undefined ||
    more.length > 0 ||
    calls.length !== 2 * count + 2 ||
    settle.gasUsed < INTRINSIC_GAS ||
    (settle.maxUsedGas ?? settle.gasUsed) < settle.gasUsed
  ) {
    return { unavailable: `${METHOD} answers something else than it should` };
  }
  // Geth shares 50,000,000 gas among all calls of a request: one that had less than it was to
  // have proves nothing. A settlement that used up all that it was given has failed by itself.
  const starved = calls.find((call) => {
    if (call.succeeded || call === lend) {
      return false;
    }
    const failed = { ...call, gasGiven: call === settle ? gas : READ_GAS };
    return isOutOfGas(failed) && !(call === settle && usesAllGas(failed));
  });
  if (starved !== undefined) {
    const what = starved === settle ? "settleAll" : "a reading";
    return {
      unavailable: `the node gives ${METHOD} ${starved.gasUsed} gas for ${what}, which uses it up`,
    };
  }
  const answers = calls.map(answerOf);
  const before = watched.decode(answers.slice(0, count));
  const after = watched.decode(answers.slice(count + 2));
  if (before === undefined || after === undefined) {
    return { unavailable: `${METHOD} does not apply state overrides` };
  }
  // The contracts may see another block than the answer states.
  const other = [block, before.block].find(
    (one) => one.number !== number || one.timestamp !== timestamp,
  );
  if (other !== undefined) {
    return {
      unavailable: `asked for block ${number} at ${timestamp}, ${METHOD} executes in block ${other.number} at ${other.timestamp}`,
    };
  }
  const { succeeded, gasUsed, logs } = settle;
  const sender = accountIn(before, route.from);
  const lent = lend.succeeded ? loanFor(sender, gas * gasPrice) : 0n;
  const gain = succeeded ? gainOf(route.from, transfers) : 0n;
  const left = accountIn(after, route.from).balance;
  // Some nodes charge nothing in a simulation.
  const fee = left === sender.balance + lent + gain ? 0n : gasUsed * gasPrice;
  return {
    engine: "simulateV1",
    before,
    after,
    balanceWithoutFee: left - lent + fee,
    gasPrice,
    block: { number, timestamp },
    failed: succeeded ? undefined : { ...settle, gasGiven: gas },
    gasUsed,
    gasNeeded: settle.maxUsedGas ?? beforeRefunds(gasUsed),
    transfers,
    logs,
  };
};

/** The block to simulate. */
function blockOf(
  { route, gas, gasPrice, next }: Attempt,
  { reads }: WatchList,
  caller: string,
): object {
  const { number, timestamp, baseFeePerGas } = next;
  const fee = gas * gasPrice;
  const toCall = ({ address: to, data: input }: ReadCall) => ({
    from: caller,
    to,
    input,
    gas: READ_GAS_HEX,
  });
  const before = reads.map(toCall);
  const { data: input, ...call } = settlementCall(route);
  return {
    blockOverrides: {
      number: numberToHexString(number),
      time: numberToHexString(timestamp),
      ...(baseFeePerGas !== undefined && {
        baseFeePerGas: numberToHexString(baseFeePerGas),
      }),
      // The gas limits of all calls together must fit into the block's.
      gasLimit: numberToHexString(
        gas + READ_GAS * BigInt(2 * before.length + 1),
      ),
    },
    stateOverrides: {
      [NOBODYS_ADDRESS]: { code: lensCode, balance: numberToHexString(fee) },
    },
    calls: [
      ...before,
      toCall(lendCall(NOBODYS_ADDRESS, route.from, fee)),
      {
        ...call,
        input,
        gas: numberToHexString(gas),
        gasPrice: numberToHexString(gasPrice),
      },
      ...before,
    ],
  };
}

/**
 * Makes the request on the branch of a block.
 *
 * @throws VaultError VAULT_REORGED
 */
async function request(
  rpc: RpcClient,
  base: Header,
  block: object,
): Promise<Answered | { readonly unavailable: string }> {
  const payload = { blockStateCalls: [block], traceTransfers: true };
  const patient = rpc.withRetries(fewRetries);
  const send = async (at: unknown) =>
    await patient.requestOrRevert(METHOD, [payload, at]);
  try {
    const answer = await readOnBranch(
      rpc,
      base,
      async () => await requestAt(rpc, base, send),
    );
    // The method never reverts: some nodes report "out of gas" this way.
    return "reverted" in answer
      ? { unavailable: `${METHOD} as a whole reverts: ${answer.reverted.text}` }
      : answer;
  } catch (error) {
    if (!allowsAnotherRequest(error)) {
      throw error;
    }
    const problem = String(error.details["problem"]);
    return { unavailable: `the node refuses ${METHOD}: ${problem}` };
  }
}

interface SimulatedCall {
  readonly succeeded: boolean;
  readonly returned: Buffer;
  /** Return or revert data, 0x hex. */
  readonly data: string;
  readonly gasUsed: bigint;
  /** Before refunds; undefined if the node does not return it. */
  readonly maxUsedGas: bigint | undefined;
  readonly logs: unknown;
  /** Error text of the node, if it states more than a failure. */
  readonly message: string | undefined;
}

function answerOf(call: SimulatedCall): CallResult {
  const { succeeded, returned, data, message } = call;
  return succeeded
    ? { data: returned }
    : { reverted: invalidOpcode(message ?? "") ?? decodeRevertReason(data) };
}

/** @returns An empty list if the answer has another form. */
export function parseSimulated(
  answer: unknown,
  network: string,
): ReadonlyArray<BlockInfo & { readonly calls: readonly SimulatedCall[] }> {
  const read = new ResponseParser(network, METHOD);
  try {
    return read.list(answer).map((block) => {
      const { number, timestamp, calls } = asRecord(block);
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
  const { data, message, code } = asRecord(error);
  const returned = read.bytes(returnData);
  return {
    returned,
    succeeded: status === "0x1" || read.quantity(status) === 1n,
    // Geth returns revert data in the error, anvil in the result.
    data: isHexString(data, true) && data !== "0x" ? data : String(returnData),
    gasUsed: read.quantity(gasUsed),
    maxUsedGas: read.optional(maxUsedGas, (value) => read.quantity(value)),
    logs: logs ?? [],
    message:
      typeof message === "string" &&
      // Code 3 means a revert.
      code !== 3 &&
      !/^(?:VM )?execution (?:failed|reverted|error)\.?$/iu.test(message)
        ? message
        : undefined,
  };
}
