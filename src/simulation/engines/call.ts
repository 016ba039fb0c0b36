import { Buffer } from "node:buffer";

import { isHexString } from "ethers";
import { max } from "@nomicfoundation/hardhat-utils/bigint";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import {
  encodeSimulate,
  parseLensResult,
  simulationLensCode,
} from "../../client/lens/simulation-lens.js";
import type { RevertReason } from "../../rpc/revert-reason.js";
import {
  EngineUnsupportedError,
  INTRINSIC_GAS,
  settlementCall,
} from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { isExhausted } from "../refusal.js";
import { factsOf, readsOf } from "../watch-list.js";
import { EngineMethod } from "./on-node.js";

/** Gas that a read may need afterwards, when all it touches is warm. */
const RESERVE_PER_READ = 60_000n;

/**
 * Simulates with one `eth_call`, by code at the sender's address that reads,
 * settles and reads again. A plain call beside it shows what the contract does
 * with a sender without code: if the two differ, this engine cannot know.
 *
 * @throws EngineUnsupportedError if the node does not do it, or not rightly
 */
export async function runCall(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const method = new EngineMethod("eth_call", parameters);
  const [result, refused] = await Promise.all([
    callLens(parameters, method),
    callPlainly(parameters, method),
  ]);
  const { failed } = result;
  if ((failed === undefined) !== (refused === undefined)) {
    throw new EngineUnsupportedError(
      "the contract answers a sender that has code otherwise than one that has none",
    );
  }
  return failed === undefined || refused === undefined
    ? result
    : { ...result, failed: { ...failed, data: refused.data } };
}

async function callLens(
  { vault, sender, target, watched, next, gas }: SimulationParameters,
  method: EngineMethod,
): Promise<EngineResult> {
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, sender);
  const allowed = gas ?? next.gasLimit;
  const reserve = RESERVE_PER_READ * BigInt(reads.length) + 200_000n;
  const answer = await method.request([
    {
      from: sender,
      to: sender,
      // What calls another passes on 63/64 of its gas.
      gas: numberToHexString((allowed * 64n) / 63n + 2n * reserve),
      data: encodeSimulate({
        reader,
        reads,
        target: target.address,
        data: settlementCall(sender, target.address).data,
        gasLimit: max(allowed - INTRINSIC_GAS, 0n),
        reserve,
      }),
    },
    numberToHexString(next.number - 1),
    {
      [sender]: { code: simulationLensCode },
      [reader]: { code: simulationLensCode },
    },
    method.blockOverrides,
  ]);
  if ("reverted" in answer) {
    // The lens never reverts: this is how some nodes say "out of gas".
    throw new EngineUnsupportedError("eth_call with code reverts");
  }
  const simulated = isHexString(answer.result, true)
    ? parseLensResult(Buffer.from(answer.result.slice(2), "hex"))
    : undefined;
  if (simulated === undefined) {
    throw method.remember("the node does not apply state overrides");
  }
  const { block, succeeded, returned } = simulated;
  method.requireBlock(block);
  const [before, after] = [simulated.before, simulated.after].map((answers) =>
    answers.filter((read) => read !== undefined),
  );
  if (before?.length !== reads.length || after?.length !== reads.length) {
    throw method.capped();
  }
  const gasUsed = BigInt(simulated.gasUsed) + INTRINSIC_GAS;
  const gasGiven = BigInt(simulated.gasGiven) + INTRINSIC_GAS;
  const data = `0x${returned.toString("hex")}`;
  const failed = succeeded
    ? undefined
    : { data, message: undefined, gasUsed, gasGiven };
  if (failed !== undefined && gasGiven < allowed && isExhausted(failed)) {
    throw method.capped(gasGiven - INTRINSIC_GAS);
  }
  return {
    block: { number: block.number, timestamp: block.timestamp },
    failed,
    gasUsed,
    gasNeeded: gasUsed,
    feePaid: 0n,
    transfers: null,
    before,
    after,
    notes: [
      "Transfers are not seen by this engine, nor gas that is given back.",
      "The sender had code meanwhile: a contract that does something else for such a sender, without refusing it, is not recognised.",
      ...method.baseFeeNotes(factsOf(watched, before)?.block.baseFee),
    ],
  };
}

/** The refusal of the call by the sender as it is; undefined if it is accepted. */
async function callPlainly(
  { sender, target, gas, next }: SimulationParameters,
  method: EngineMethod,
): Promise<RevertReason | undefined> {
  const call = {
    ...settlementCall(sender, target.address),
    gas: numberToHexString(gas ?? next.gasLimit),
  };
  const base = numberToHexString(next.number - 1);
  const answer = await method.request([call, base, {}, method.blockOverrides]);
  return "reverted" in answer ? answer.reverted : undefined;
}
