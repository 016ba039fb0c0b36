import { Buffer } from "node:buffer";

import { isHexString } from "ethers";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { encodeCall } from "../../client/codec.js";
import { entryAnswer } from "../../client/lens/lens-answer.js";
import {
  encodeRehearse,
  parseRehearsed,
  rehearsalLensCode,
} from "../../client/lens/rehearsal-lens.js";
import { originOf } from "../../rpc/patient.js";
import { refusesParameters } from "../../rpc/errors.js";
import { RevertedCall } from "../../rpc/request.js";
import { EngineUnable, UNKNOWABLE, settlementCall } from "../question.js";
import type { Answer, Question } from "../question.js";
import { isExhausted } from "../refusal.js";
import { readsOf } from "../watch-list.js";
import type { WatchedReading } from "../watch-list.js";
import { EngineMethod, toAnswer, inChunks } from "./on-node.js";
import type { Part } from "./on-node.js";

const METHOD = "eth_call";
const method = new EngineMethod(METHOD);

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
  method.requireAble(vault);
  const provider = originOf(vault.provider);
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
        error.why === undefined ||
        error.why === "capped"
      ) {
        throw error;
      }
      // No other block will do either.
      if (error.why === "other block" || refusesParameters(error.cause)) {
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

async function rehearseAt(question: Question, place: Place): Promise<Answer> {
  const [part, refused] = await Promise.all([
    inChunks(
      question,
      async (orders) => await rehearse(question, place, orders),
    ),
    callPlainly(question, place),
  ]);
  const { failed } = part;
  if ((failed === undefined) !== (refused === undefined)) {
    throw new EngineUnable(
      "the contract answers a sender that has code otherwise than one that has none",
    );
  }
  return await toAnswer(
    question,
    {
      ...part,
      failed:
        failed === undefined || refused === undefined
          ? undefined
          : { ...failed, data: refused.reason.data },
    },
    [
      "Transfers are not seen by this engine, nor gas that is given back.",
      "The sender had code meanwhile: a contract that does something else for such a sender, without refusing it, is not recognised.",
      UNKNOWABLE,
    ],
  );
}

async function rehearse(
  { vault, sender, target, watched, next, gas }: Question,
  place: Place,
  orders: readonly WatchedReading[],
): Promise<Part> {
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, sender, orders);
  const gasLimit = (gas ?? next.gasLimit) - INTRINSIC_GAS;
  const answer = await request(
    vault,
    place,
    {
      from: sender,
      to: sender,
      data: encodeRehearse({
        reader,
        reads,
        target: target.address,
        data: encodeCall("settleAll", []).data,
        gasLimit: gasLimit < 0n ? 0n : gasLimit,
        reserve: RESERVE_PER_READ * BigInt(reads.length) + 200_000n,
      }),
    },
    {
      [sender]: { code: rehearsalLensCode },
      [reader]: { code: rehearsalLensCode },
    },
  );
  if (answer instanceof RevertedCall) {
    // The lens never reverts: this is how some nodes say "out of gas".
    throw new EngineUnable(`${METHOD} with code reverts`, "capped");
  }
  const rehearsed = isHexString(answer, true)
    ? parseRehearsed(Buffer.from(answer.slice(2), "hex"))
    : undefined;
  if (rehearsed === undefined) {
    throw method.remember(vault, "the node does not apply state overrides");
  }
  const { before, after, block } = rehearsed;
  if (
    block.number !== next.number ||
    (place.overrides === undefined
      ? // A pending block's time goes on meanwhile.
        block.timestamp < next.timestamp
      : block.timestamp !== next.timestamp)
  ) {
    throw new EngineUnable(method.describeOther(next, block), "other block");
  }
  if (
    before.length !== reads.length ||
    after.length !== reads.length ||
    [...before, ...after].some(({ status }) => status === "unknown")
  ) {
    throw method.capped();
  }
  const gasUsed = BigInt(rehearsed.gasUsed);
  const gasGiven = BigInt(rehearsed.gasGiven);
  const failed = {
    data: `0x${rehearsed.returned.toString("hex")}`,
    message: undefined,
    gasUsed,
    gasGiven,
  };
  if (!rehearsed.succeeded && gasGiven < gasLimit && isExhausted(failed)) {
    throw method.capped(gasGiven);
  }
  const used = gasUsed + INTRINSIC_GAS;
  return {
    block: { number: block.number, timestamp: block.timestamp },
    failed: rehearsed.succeeded
      ? undefined
      : { ...failed, gasUsed: used, gasGiven: gasGiven + INTRINSIC_GAS },
    gasUsed: used,
    gasNeeded: used,
    transfers: null,
    before: before.map((entry) => entryAnswer(rehearsed, entry)),
    after: after.map((entry) => entryAnswer(rehearsed, entry)),
  };
}

/** What the contract says to the sender as it is; undefined if it accepts. */
async function callPlainly(
  { vault, sender, target, gas }: Question,
  place: Place,
): Promise<RevertedCall | undefined> {
  const call = {
    ...settlementCall(sender, target.address),
    ...(gas === undefined ? {} : { gas: numberToHexString(gas) }),
  };
  const answer = await request(vault, place, call, {});
  return answer instanceof RevertedCall ? answer : undefined;
}

async function request(
  vault: Question["vault"],
  { blockTag, overrides }: Place,
  call: object,
  code: object,
): Promise<unknown> {
  return await method.request(vault, [
    call,
    blockTag,
    code,
    ...(overrides === undefined ? [] : [overrides]),
  ]);
}
