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
import { refusesParameters } from "../../rpc/errors.js";
import { RevertedCall } from "../../rpc/request.js";
import { EngineUnable, INTRINSIC_GAS, settlementCall } from "../question.js";
import type { Answer, Question } from "../question.js";
import { isExhausted } from "../refusal.js";
import { readsOf } from "../watch-list.js";
import { EngineMethod, toAnswer } from "./on-node.js";
import type { Part } from "./on-node.js";

const METHOD = "eth_call";
const method = new EngineMethod(METHOD, ({ cause }) =>
  refusesParameters(cause),
);

/** Gas that a read may need afterwards, when all it touches is warm. */
const RESERVE_PER_READ = 60_000n;

/**
 * Rehearses with one `eth_call`, by code at the sender's address that reads,
 * settles and reads again. A plain call beside it tells what the contract says
 * to a sender without code: where the two differ, this engine cannot know.
 *
 * @throws EngineUnable where the node does not do it, or not rightly
 */
export async function rehearseByCall(question: Question): Promise<Answer> {
  const [part, refused] = await Promise.all([
    rehearse(question),
    callPlainly(question),
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
    ],
  );
}

async function rehearse(question: Question): Promise<Part> {
  const { vault, sender, target, watched, next, gas } = question;
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, sender);
  const allowed = gas ?? next.gasLimit;
  const gasLimit = allowed - INTRINSIC_GAS;
  const reserve = RESERVE_PER_READ * BigInt(reads.length) + 200_000n;
  const answer = await request(
    question,
    {
      from: sender,
      to: sender,
      // What calls another passes on 63/64 of its gas.
      gas: numberToHexString((allowed * 64n) / 63n + 2n * reserve),
      data: encodeRehearse({
        reader,
        reads,
        target: target.address,
        data: encodeCall("settleAll", []).data,
        gasLimit: gasLimit < 0n ? 0n : gasLimit,
        reserve,
      }),
    },
    {
      [sender]: { code: rehearsalLensCode },
      [reader]: { code: rehearsalLensCode },
    },
  );
  if (answer instanceof RevertedCall) {
    // The lens never reverts: this is how some nodes say "out of gas".
    throw new EngineUnable(`${METHOD} with code reverts`);
  }
  const rehearsed = isHexString(answer, true)
    ? parseRehearsed(Buffer.from(answer.slice(2), "hex"))
    : undefined;
  if (rehearsed === undefined) {
    throw method.remember(vault, "the node does not apply state overrides");
  }
  const { before, after, block } = rehearsed;
  method.requireBlock(question, block);
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
  question: Question,
): Promise<RevertedCall | undefined> {
  const { sender, target, gas, next } = question;
  const call = {
    ...settlementCall(sender, target.address),
    gas: numberToHexString(gas ?? next.gasLimit),
  };
  const answer = await request(question, call, {});
  return answer instanceof RevertedCall ? answer : undefined;
}

async function request(
  { vault, next: { number, timestamp, baseFeePerGas } }: Question,
  call: object,
  code: object,
): Promise<unknown> {
  return await method.request(vault, [
    call,
    numberToHexString(number - 1),
    code,
    {
      number: numberToHexString(number),
      time: numberToHexString(timestamp),
      ...(baseFeePerGas === undefined
        ? {}
        : { baseFeePerGas: numberToHexString(baseFeePerGas) }),
    },
  ]);
}
