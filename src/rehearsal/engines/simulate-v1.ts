import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { encodeCall } from "../../client/codec.js";
import {
  NOBODYS_ADDRESS,
  rehearsalLensCode,
} from "../../client/lens/rehearsal-lens.js";
import type { ReadCall } from "../../client/lens/lens.js";
import { VaultError } from "../../errors.js";
import type { Eip1193Provider } from "../../rpc/eip1193.js";
import type { BlockInfo } from "../../rpc/node.js";
import { lessPatient, originOf } from "../../rpc/patient.js";
import {
  RevertedCall,
  isHexData,
  parseQuantity,
  requestRpc,
} from "../../rpc/request.js";
import { beforeRefunds } from "../execute-on-chain.js";
import { EngineUnable, UNKNOWABLE } from "../question.js";
import type { Answer, Question } from "../question.js";
import { describeRefusal, isExhausted } from "../refusal.js";
import type { FailedCall } from "../refusal.js";
import { parseLogs, transfersOf } from "../transfers.js";
import type { Log } from "../transfers.js";
import { compareAnswers, factsOf, readOf, readsOf } from "../watch-list.js";
import type { ReadAnswer, WatchedReading } from "../watch-list.js";
import { inChunks } from "./in-chunks.js";
import { toUnable } from "./unable.js";

const METHOD = "eth_simulateV1";

/**
 * What one read may use. A node may give it less: Geth has 50,000,000 for all
 * calls of a request together, and what a call is given counts only when it is
 * used.
 */
const READ_GAS = 10_000_000n;

/** Providers whose node is known not to do it, or to do it wrongly. */
const unable = new WeakMap<object, string>();

/** One simulated call, its fields checked. */
export interface SimulatedCall {
  readonly succeeded: boolean;
  /** What it returned or reverted with, 0x hex. */
  readonly data: string;
  readonly gasUsed: bigint;
  /** Before refunds; undefined where the node does not tell. */
  readonly maxUsedGas: bigint | undefined;
  readonly logs: readonly Log[];
  /** The node's words where it failed, if they say more than that. */
  readonly message: string | undefined;
}

/** One simulated block. */
export interface SimulatedBlock extends BlockInfo {
  readonly calls: readonly SimulatedCall[];
}

/**
 * Rehearses with `eth_simulateV1`: the readings, the settlement and the readings
 * again, each a call of its own in one block that is never made. The caller of
 * every call is exact, nobody has code that he does not have on the chain, and
 * gas and logs are those of the transaction.
 *
 * @throws EngineUnable where the node does not do it, or not rightly
 */
export async function rehearseBySimulateV1(
  question: Question,
): Promise<Answer> {
  const { vault, watched } = question;
  const known = unable.get(originOf(vault.provider));
  if (known !== undefined) {
    throw new EngineUnable(known);
  }
  const { number } = question.next;
  const parts = await inChunks(
    watched.orders,
    async (orders) => await simulate(question, orders),
  );
  const [first] = parts;
  const { settle, chainId } = first;
  const failed = failureOf(question, settle);
  const compared = await compareAnswers(
    vault,
    watched,
    number - 1,
    [...first.before, ...parts.flatMap(({ ordersBefore }) => ordersBefore)],
    [...first.after, ...parts.flatMap(({ ordersAfter }) => ordersAfter)],
  );
  return {
    ...compared,
    chainId,
    block: { number, timestamp: question.next.timestamp },
    refusal:
      failed === undefined
        ? null
        : await describeRefusal(
            vault,
            question.gas,
            question.next.gasLimit,
            failed,
            number - 1,
          ),
    gasUsed: settle.gasUsed,
    gasNeeded: settle.maxUsedGas ?? beforeRefunds(settle.gasUsed),
    transfers: transfersOf(settle.logs),
    notes: [UNKNOWABLE],
  };
}

/** What one request found out. */
interface Part {
  readonly chainId: number;
  readonly settle: SimulatedCall;
  readonly before: readonly ReadAnswer[];
  readonly after: readonly ReadAnswer[];
  readonly ordersBefore: readonly ReadAnswer[];
  readonly ordersAfter: readonly ReadAnswer[];
}

async function simulate(
  question: Question,
  orders: readonly WatchedReading[],
): Promise<Part> {
  const { vault, sender, target, watched, next } = question;
  const { provider, networkName: network } = vault;
  const { from } = vault.readContext({});
  const settlementGas = gasLimitOf(question);
  const reads = readsOf(watched, NOBODYS_ADDRESS);
  const orderReads = orders.map(readOf);
  const toRead = ({ target: to, data }: ReadCall): object => ({
    from,
    to,
    input: data,
    gas: numberToHexString(READ_GAS),
  });
  const allReads = [...reads, ...orderReads].map(toRead);
  const answer = await request(question, [
    {
      blockStateCalls: [
        {
          blockOverrides: {
            number: numberToHexString(next.number),
            time: numberToHexString(next.timestamp),
            // All calls count towards it, and each has to fit in.
            gasLimit: numberToHexString(
              settlementGas + READ_GAS * BigInt(2 * allReads.length),
            ),
            ...(next.baseFeePerGas === undefined
              ? {}
              : { baseFeePerGas: numberToHexString(next.baseFeePerGas) }),
          },
          stateOverrides: { [NOBODYS_ADDRESS]: { code: rehearsalLensCode } },
          calls: [
            ...allReads,
            {
              from: sender,
              to: target.address,
              input: encodeCall("settleAll", []).data,
              gas: numberToHexString(settlementGas),
            },
            ...allReads,
          ],
        },
      ],
      traceTransfers: true,
    },
    numberToHexString(next.number - 1),
  ]);
  const [block, ...more] = parseSimulated(answer, network) ?? [];
  const calls = block?.calls ?? [];
  const settle = calls[allReads.length];
  if (
    block === undefined ||
    settle === undefined ||
    more.length > 0 ||
    calls.length !== 2 * allReads.length + 1
  ) {
    throw remember(
      provider,
      `${METHOD} answers something else than its specification says`,
    );
  }
  const [before, after] = [
    calls.slice(0, allReads.length),
    calls.slice(allReads.length + 1),
  ];
  // What its answer says and what the contracts see need not be the same.
  const seen = factsOf(watched, before)?.block;
  for (const { number, timestamp } of [
    block,
    ...(seen === undefined ? [] : [seen]),
  ]) {
    if (number !== next.number || timestamp !== next.timestamp) {
      throw remember(
        provider,
        `asked for block ${next.number} at ${next.timestamp}, ${METHOD} executes in block ${number} at ${timestamp}`,
      );
    }
  }
  const isStarved = (call: SimulatedCall | undefined): boolean =>
    call?.succeeded === false && isExhausted({ ...call, gasGiven: READ_GAS });
  if (seen === undefined && !before.some(isStarved)) {
    throw remember(provider, `${METHOD} does not apply state overrides`);
  }
  if (
    // The lens comes after the readings: what they use up, it has not.
    seen === undefined ||
    (orders.length > 0 && before.some(isStarved)) ||
    // By itself one that always fails is a reading; else it would be a change.
    after.some(
      (call, index) =>
        isStarved(call) &&
        (orders.length > 0 || before[index]?.succeeded === true),
    )
  ) {
    throw new EngineUnable(
      `the gas that the node gives ${METHOD} does not suffice for the readings`,
      { isCapped: true },
    );
  }
  const failed = failureOf(question, settle);
  if (
    failed !== undefined &&
    isExhausted(failed) &&
    failed.gasUsed * 100n < failed.gasGiven * 95n
  ) {
    // Geth gives one request 50 million, all its calls together.
    throw new EngineUnable(
      `the node gives ${METHOD} ${failed.gasUsed} gas for settleAll, which uses it up`,
      { isCapped: true },
    );
  }
  return {
    chainId: seen.chainId,
    settle,
    before: before.slice(0, reads.length),
    after: after.slice(0, reads.length),
    ordersBefore: before.slice(reads.length),
    ordersAfter: after.slice(reads.length),
  };
}

/** The gas limit of the transaction: as asked for, else what a block has. */
function gasLimitOf({ gas, next }: Question): bigint {
  return gas ?? next.gasLimit;
}

/** @returns Undefined if it succeeded. */
function failureOf(
  question: Question,
  { succeeded, data, message, gasUsed }: SimulatedCall,
): FailedCall | undefined {
  return succeeded
    ? undefined
    : { data, message, gasUsed, gasGiven: gasLimitOf(question) };
}

/** @throws EngineUnable where the node refuses */
async function request(
  { vault: { provider, networkName } }: Question,
  params: readonly unknown[],
): Promise<unknown> {
  let answer: unknown;
  try {
    answer = await requestRpc(
      lessPatient(provider),
      networkName,
      METHOD,
      params,
    );
  } catch (error) {
    throw toUnable(error, METHOD, (problem, isMissing) =>
      isMissing ? remember(provider, problem) : new EngineUnable(problem),
    );
  }
  if (answer instanceof RevertedCall) {
    throw new EngineUnable(
      `${METHOD} as a whole reverts: ${answer.reason.text}`,
    );
  }
  return answer;
}

function remember(provider: Eip1193Provider, problem: string): EngineUnable {
  unable.set(originOf(provider), problem);
  return new EngineUnable(problem);
}

/**
 * Takes an answer of `eth_simulateV1` apart.
 *
 * @returns Undefined where it is not one.
 */
export function parseSimulated(
  answer: unknown,
  network: string,
): readonly SimulatedBlock[] | undefined {
  try {
    return listOf(answer).map((item) => {
      const { number, timestamp, calls } = recordOf(item);
      return {
        number: Number(parseQuantity(number, network, METHOD)),
        timestamp: Number(parseQuantity(timestamp, network, METHOD)),
        calls: listOf(calls).map((call) => parseCall(call, network)),
      };
    });
  } catch (error) {
    if (
      error instanceof Malformed ||
      (VaultError.isVaultError(error) &&
        error.code === "VAULT_RPC_INVALID_RESPONSE")
    ) {
      return undefined;
    }
    throw error;
  }
}

function parseCall(item: unknown, network: string): SimulatedCall {
  const { status, returnData, gasUsed, maxUsedGas, logs, error } =
    recordOf(item);
  const succeeded = parseQuantity(status, network, METHOD) === 1n;
  const parsedLogs = parseLogs(logs ?? []);
  const { data, message, code } =
    typeof error === "object" && error !== null ? recordOf(error) : {};
  // Geth puts what it reverts with into the error, anvil into the result.
  const returned = [data, returnData].find(
    (hex) => isHexData(hex) && hex !== "0x",
  );
  if (!isHexData(returnData) || parsedLogs === undefined) {
    throw new Malformed("a call without data or logs");
  }
  return {
    succeeded,
    data: typeof returned === "string" ? returned : "0x",
    gasUsed: parseQuantity(gasUsed, network, METHOD),
    maxUsedGas:
      maxUsedGas === undefined
        ? undefined
        : parseQuantity(maxUsedGas, network, METHOD),
    logs: parsedLogs,
    message:
      typeof message === "string" && code !== REVERTED && !saysNothing(message)
        ? message
        : undefined,
  };
}

/** What should be an answer is none. */
class Malformed extends Error {}

/** Code of a call that reverted. */
const REVERTED = 3;

function saysNothing(message: string): boolean {
  return /^execution (?:failed|reverted)$/iu.test(message);
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw new Malformed("not a list");
  }
  return value;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) {
    throw new Malformed("not an object");
  }
  return { ...value };
}
