import { Buffer } from "node:buffer";

import { isHexString } from "ethers";
import { max } from "@nomicfoundation/hardhat-utils/bigint";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import {
  encodeSimulate,
  parseLensResult,
  simulationLensCode,
} from "../../client/lens/simulation-lens.js";
import {
  EngineUnsupportedError,
  INTRINSIC_GAS,
  settlementCall,
} from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { readsOf } from "../watch-list.js";
import { blockOverrides, requestOnNode, simulateOnNode } from "./on-node.js";

const METHOD = "eth_call";

/** Gas for a read after the settlement, which finds all storage warm. */
const RESERVE_PER_READ = 60_000n;

/**
 * Simulates with one `eth_call`: code at the sender's address reads, settles and reads
 * again. A second call settles from a sender without code, to see if the contract
 * treats it differently.
 *
 * @throws EngineUnsupportedError if it does, or the node cannot simulate correctly
 */
export async function runCall(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const { vault, sender, route, watched, next } = parameters;
  const { gas = next.gasLimit } = parameters;
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, sender);
  const reserve = RESERVE_PER_READ * BigInt(reads.length) + 200_000n;
  const call = settlementCall(route);
  const lensCall = {
    from: sender,
    to: sender,
    // A contract passes at most 63/64 of its gas to a call (EIP-150).
    gas: numberToHexString((gas * 64n) / 63n + 2n * reserve),
    data: encodeSimulate({
      reader,
      reads,
      target: call.to,
      data: call.data,
      gasLimit: max(gas - INTRINSIC_GAS, 0n),
      reserve,
    }),
  };
  const lens = { code: simulationLensCode };
  const base = numberToHexString(next.number - 1);
  const overrides = blockOverrides(parameters);
  const [result, plain] = await Promise.all([
    simulateOnNode(
      parameters,
      METHOD,
      reads.length,
      [lensCall, base, { [sender]: lens, [reader]: lens }, overrides],
      parseResult,
    ),
    requestOnNode(vault, METHOD, [
      { ...call, gas: numberToHexString(gas) },
      base,
      {},
      overrides,
    ]),
  ]);
  const { failed } = result;
  if ((failed !== undefined) !== "reverted" in plain) {
    throw new EngineUnsupportedError(
      "the contract answers a sender that has code otherwise than one that has none",
    );
  }
  return failed !== undefined && "reverted" in plain
    ? { ...result, failed: { ...failed, data: plain.reverted.data } }
    : result;
}

function parseResult(result: unknown) {
  const simulated = isHexString(result, true)
    ? parseLensResult(Buffer.from(result.slice(2), "hex"))
    : undefined;
  if (simulated === undefined) {
    return undefined;
  }
  const gasUsed = BigInt(simulated.gasUsed) + INTRINSIC_GAS;
  const gasGiven = BigInt(simulated.gasGiven) + INTRINSIC_GAS;
  const data = `0x${simulated.returned.toString("hex")}`;
  return {
    ...simulated,
    failed: simulated.succeeded
      ? undefined
      : { data, message: undefined, gasUsed, gasGiven },
    gasUsed,
    gasNeeded: gasUsed,
    transfers: null,
    notes: [
      "Transfers are not seen by this engine, nor gas that is given back.",
      "The sender had code meanwhile: a contract that does something else for such a sender, without refusing it, is not recognised.",
    ],
  };
}
