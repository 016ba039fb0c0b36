import { Buffer } from "node:buffer";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { encodeCall } from "../../client/codec.js";
import {
  encodeRehearse,
  parseRehearsed,
  rehearsalLensCode,
} from "../../client/lens/rehearsal-lens.js";
import type { RehearsedCall } from "../../client/lens/rehearsal-lens.js";
import type { LensEntry } from "../../client/lens/lens-answer.js";
import type { BlockInfo } from "../../rpc/node.js";
import { lessPatient, originOf } from "../../rpc/patient.js";
import { refusesParameters } from "../../rpc/errors.js";
import { RevertedCall, isHexData, requestRpc } from "../../rpc/request.js";
import { EngineUnable, UNKNOWABLE } from "../question.js";
import type { Answer, Question } from "../question.js";
import { describeRefusal, isExhausted } from "../refusal.js";
import { compareAnswers, readOf, readsOf } from "../watch-list.js";
import type { ReadAnswer, WatchedReading } from "../watch-list.js";
import { inChunks } from "./in-chunks.js";
import { toUnable } from "./unable.js";

const METHOD = "eth_call";

/** Providers whose node is known not to apply the overrides that it takes. */
const unable = new WeakMap<object, string>();

/** Providers whose node executes calls in blocks of its own choice only. */
const withoutBlockOverrides = new WeakSet();

/** Of the transaction itself, with the four bytes of `settleAll`. */
const INTRINSIC_GAS = 21_064n;

/** Gas that a read may need afterwards, when all it touches is warm. */
const RESERVE_PER_READ = 60_000n;

/** Where a call is executed. */
interface Place {
  readonly blockTag: string;
  /** Undefined where the node executes in that block as it is. */
  readonly overrides:
    { readonly number: string; readonly time: string } | undefined;
}

/** What one request found out. */
interface Part {
  readonly rehearsed: RehearsedCall;
  readonly ordersAt: number;
}

/**
 * Rehearses with one `eth_call`, by code at the sender's address that reads,
 * settles and reads again. A plain call beside it tells what the contract says
 * to a sender without code: where the two differ, this engine cannot know.
 *
 * @throws EngineUnable where the node does not do it, or not rightly
 */
export async function rehearseByCall(question: Question): Promise<Answer> {
  const {
    vault,
    next: { number, timestamp, isPending },
  } = question;
  const provider = originOf(vault.provider);
  const known = unable.get(provider);
  if (known !== undefined) {
    throw new EngineUnable(known);
  }
  if (!withoutBlockOverrides.has(provider)) {
    try {
      return await rehearseAt(question, {
        blockTag: numberToHexString(number - 1),
        overrides: {
          number: numberToHexString(number),
          time: numberToHexString(timestamp),
        },
      });
    } catch (error) {
      if (
        !(error instanceof EngineUnable) ||
        (error.cause !== BLOCK && error.cause !== NO_BLOCKS)
      ) {
        throw error;
      }
      if (error.cause === NO_BLOCKS) {
        withoutBlockOverrides.add(provider);
      }
    }
  }
  if (!isPending) {
    throw new EngineUnable(
      `the node does not execute ${METHOD} at another time, or in another block`,
    );
  }
  const answer = await rehearseAt(question, {
    blockTag: "pending",
    overrides: undefined,
  });
  withoutBlockOverrides.add(provider);
  return answer;
}

/** Cause of an EngineUnable: it may be the block that was asked for. */
const BLOCK = "block";

/** Cause of an EngineUnable: no other block will do either. */
const NO_BLOCKS = "no blocks";

async function rehearseAt(question: Question, place: Place): Promise<Answer> {
  const { vault, watched, next } = question;
  const [parts, plain] = await Promise.all([
    inChunks(
      watched.orders,
      async (orders) => await rehearse(question, place, orders),
    ),
    callPlainly(question, place),
  ]);
  const [{ rehearsed, ordersAt }] = parts;
  const { succeeded, block, gasUsed } = rehearsed;
  if (succeeded !== (plain === undefined)) {
    throw new EngineUnable(
      "the contract answers a sender that has code otherwise than one that has none",
    );
  }
  const answers = (
    side: "before" | "after",
    part: (
      answers: readonly ReadAnswer[],
      from: number,
    ) => readonly ReadAnswer[],
  ): readonly ReadAnswer[] =>
    parts.flatMap((piece) =>
      part(toAnswers(piece.rehearsed, side), piece.ordersAt),
    );
  const all = (side: "before" | "after"): readonly ReadAnswer[] => [
    ...toAnswers(rehearsed, side).slice(0, ordersAt),
    ...answers(side, (list, from) => list.slice(from)),
  ];
  const used = BigInt(gasUsed) + INTRINSIC_GAS;
  return {
    ...(await compareAnswers(
      vault,
      watched,
      next.number - 1,
      all("before"),
      all("after"),
    )),
    chainId: block.chainId,
    block: { number: block.number, timestamp: block.timestamp },
    refusal:
      plain === undefined
        ? null
        : await describeRefusal(
            vault,
            question.gas,
            next.gasLimit,
            {
              data: plain.reason.data,
              message: undefined,
              gasUsed: used,
              gasGiven: BigInt(rehearsed.gasGiven) + INTRINSIC_GAS,
            },
            next.number - 1,
          ),
    gasUsed: used,
    gasNeeded: used,
    transfers: null,
    notes: [
      "Transfers are not seen by this engine, nor gas that is given back.",
      "The sender had code meanwhile: a contract that does something else for such a sender, without refusing it, is not recognised.",
      UNKNOWABLE,
    ],
  };
}

function toAnswers(
  { bytes, ...entries }: RehearsedCall,
  side: "before" | "after",
): readonly ReadAnswer[] {
  return entries[side].map(({ status, start, end }: LensEntry) => ({
    succeeded: status === "returned",
    data: `0x${bytes.toString("hex", start, end)}`,
  }));
}

async function rehearse(
  question: Question,
  place: Place,
  orders: readonly WatchedReading[],
): Promise<Part> {
  const { vault, sender, target, watched, next, gas } = question;
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, sender);
  const calls = [...reads, ...orders.map(readOf)];
  const gasLimit = (gas ?? next.gasLimit) - INTRINSIC_GAS;
  const answer = await request(question, place, {
    call: {
      from: sender,
      to: sender,
      data: encodeRehearse({
        reader,
        reads: calls,
        target: target.address,
        data: encodeCall("settleAll", []).data,
        gasLimit: gasLimit < 0n ? 0n : gasLimit,
        reserve: RESERVE_PER_READ * BigInt(calls.length) + 200_000n,
      }),
    },
    code: Object.fromEntries(
      [sender, reader].map((address) => [address, { code: rehearsalLensCode }]),
    ),
  });
  if (answer instanceof RevertedCall) {
    // The lens never reverts: this is how some nodes say "out of gas".
    throw new EngineUnable(`${METHOD} with code reverts`, { isCapped: true });
  }
  const rehearsed = isHexData(answer)
    ? parseRehearsed(Buffer.from(answer.slice(2), "hex"))
    : undefined;
  if (rehearsed === undefined) {
    const problem = "the node does not apply state overrides";
    unable.set(originOf(vault.provider), problem);
    throw new EngineUnable(problem);
  }
  const { before, after, block, succeeded, gasUsed, gasGiven, returned } =
    rehearsed;
  checkBlock(question, place, block);
  if (
    before.length !== calls.length ||
    after.length !== calls.length ||
    [...before, ...after].some(({ status }) => status === "unknown")
  ) {
    throw new EngineUnable(
      `the gas that the node gives ${METHOD} does not suffice for the readings`,
      { isCapped: true },
    );
  }
  if (
    !succeeded &&
    BigInt(gasGiven) < gasLimit &&
    isExhausted({
      data: `0x${returned.toString("hex")}`,
      message: undefined,
      gasUsed: BigInt(gasUsed),
      gasGiven: BigInt(gasGiven),
    })
  ) {
    throw new EngineUnable(
      `the node gives ${METHOD} ${gasGiven} gas for settleAll, which uses it up`,
      { isCapped: true },
    );
  }
  return { rehearsed, ordersAt: reads.length };
}

/** @throws EngineUnable where it is not the block that was meant */
function checkBlock(
  { next }: Question,
  { overrides }: Place,
  { number, timestamp }: BlockInfo,
): void {
  if (
    number !== next.number ||
    (overrides === undefined
      ? // A pending block's time goes on meanwhile.
        timestamp < next.timestamp
      : timestamp !== next.timestamp)
  ) {
    throw new EngineUnable(
      `asked for block ${next.number} at ${next.timestamp}, ${METHOD} executes in block ${number} at ${timestamp}`,
      { cause: NO_BLOCKS },
    );
  }
}

/** What the contract says to the sender as it is; undefined if it accepts. */
async function callPlainly(
  question: Question,
  place: Place,
): Promise<RevertedCall | undefined> {
  const { sender, target, gas } = question;
  const answer = await request(question, place, {
    call: {
      from: sender,
      to: target.address,
      data: encodeCall("settleAll", []).data,
      ...(gas === undefined ? {} : { gas: numberToHexString(gas) }),
    },
    code: {},
  });
  return answer instanceof RevertedCall ? answer : undefined;
}

async function request(
  { vault: { provider, networkName } }: Question,
  { blockTag, overrides }: Place,
  { call, code }: { readonly call: object; readonly code: object },
): Promise<unknown> {
  try {
    return await requestRpc(lessPatient(provider), networkName, METHOD, [
      call,
      blockTag,
      code,
      ...(overrides === undefined ? [] : [overrides]),
    ]);
  } catch (error) {
    throw toUnable(
      error,
      METHOD,
      (problem) =>
        new EngineUnable(
          problem,
          overrides === undefined
            ? {}
            : { cause: refusesParameters(error) ? NO_BLOCKS : BLOCK },
        ),
    );
  }
}
