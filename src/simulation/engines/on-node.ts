import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { parseFacts } from "../../client/lens/simulation-lens.js";
import type { VaultHost } from "../../host.js";
import type { BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/calls.js";
import { isRefusedAnyhow, refusesParameters } from "../../rpc/errors.js";
import { fewRetries } from "../../rpc/retry.js";
import type { Executed, KnownNode } from "../../rpc/rpc-client.js";
import { EngineUnsupportedError } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { usesAllGas } from "../../settlement-call/refusal.js";
import { isOutOfGas } from "../find-refusal.js";

/** Methods that cannot simulate correctly on a node, each with the reason. */
const unableTo = new WeakMap<KnownNode, Map<string, string>>();

/** Parsed answer of a node; a read that ran out of gas is undefined. */
type NodeSimulation = Omit<
  EngineResult<ReadonlyArray<CallResult | undefined>>,
  "feePaid"
>;

/**
 * Simulates in one request to the node, and checks its answer.
 *
 * @param reads Number of reads before the settlement, and again after it.
 * @param parse Returns undefined for an answer of another form.
 * @throws EngineUnsupportedError if the node cannot simulate correctly
 */
export async function simulateOnNode(
  parameters: SimulationParameters,
  method: string,
  reads: number,
  params: readonly unknown[],
  parse: (result: unknown) => NodeSimulation | undefined,
): Promise<EngineResult> {
  const { vault, watched, next, gas = next.gasLimit } = parameters;
  const unable = (problem: string): EngineUnsupportedError =>
    remember(vault, method, problem);
  const requireBlock = ({ number, timestamp }: BlockInfo): void => {
    if (number !== next.number || timestamp !== next.timestamp) {
      throw unable(
        `asked for block ${next.number} at ${next.timestamp}, ${method} executes in block ${number} at ${timestamp}`,
      );
    }
  };
  const executed = await requestOnNode(vault, method, params);
  if ("reverted" in executed) {
    // The method never reverts: some nodes report "out of gas" this way.
    const { text } = executed.reverted;
    throw new EngineUnsupportedError(`${method} as a whole reverts: ${text}`);
  }
  const simulated = parse(executed.result);
  if (simulated === undefined) {
    throw unable(
      `${method} answers something else than it should, as without state overrides`,
    );
  }
  requireBlock(simulated.block);
  const [before = [], after = []] = [simulated.before, simulated.after].map(
    (results) => results.filter((result) => result !== undefined),
  );
  if (before.length < reads || after.length < reads) {
    throw new EngineUnsupportedError(
      `the gas that the node gives ${method} does not suffice for the readings`,
    );
  }
  // The contracts may see another block than the answer states.
  const seen = parseFacts(before[0], watched.accounts)?.block;
  if (seen === undefined) {
    throw unable(`${method} does not apply state overrides`);
  }
  requireBlock(seen);
  const { failed } = simulated;
  if (
    failed !== undefined &&
    isOutOfGas(failed) &&
    (failed.gasGiven < gas || !usesAllGas(failed))
  ) {
    // Geth shares 50,000,000 gas among all calls of a request.
    throw new EngineUnsupportedError(
      `the node gives ${method} ${failed.gasUsed} gas for settleAll, which uses it up`,
    );
  }
  const { number, timestamp, baseFeePerGas = 0n } = next;
  const notes = [...simulated.notes];
  if (seen.baseFee !== baseFeePerGas) {
    // Some nodes ignore the base fee of the request.
    notes.push(
      `The node simulates with a base fee of ${seen.baseFee} wei instead of ${baseFeePerGas}: a contract that reads block.basefee can do something else when it is mined.`,
    );
  }
  const block = { number, timestamp };
  return { ...simulated, block, feePaid: 0n, before, after, notes };
}

/** Error texts of nodes that lack the method or do not allow it. */
const missingMethod =
  /(?:method|eth_\w+).*(?:not (?:found|supported|available|allowed|exist|implemented)|does(?: not|n't) exist|unsupported|disabled)|(?:unknown|unsupported) method/iu;

/** @throws EngineUnsupportedError if the node refuses the request */
async function requestOnNode(
  vault: VaultHost,
  method: string,
  params: readonly unknown[],
): Promise<Executed> {
  const { rpc } = vault;
  const known = unableTo.get(rpc.node)?.get(method);
  if (known !== undefined) {
    throw new EngineUnsupportedError(known);
  }
  try {
    return await rpc.withRetries(fewRetries).requestOrRevert(method, params);
  } catch (error) {
    if (!isRefusedAnyhow(error)) {
      throw error;
    }
    const problem = String(error.details["problem"]);
    const refused = `the node refuses ${method}: ${problem}`;
    throw missingMethod.test(problem) || refusesParameters(error.cause)
      ? remember(vault, method, refused)
      : new EngineUnsupportedError(refused, { cause: error });
  }
}

export function blockOverrides({
  next: { number, timestamp, baseFeePerGas },
}: Pick<SimulationParameters, "next">): Readonly<Record<string, string>> {
  return {
    number: numberToHexString(number),
    time: numberToHexString(timestamp),
    ...(baseFeePerGas !== undefined && {
      baseFeePerGas: numberToHexString(baseFeePerGas),
    }),
  };
}

/** Keeps later simulations from trying the method on this node. */
function remember(
  { rpc }: VaultHost,
  method: string,
  problem: string,
): EngineUnsupportedError {
  const known = unableTo.get(rpc.node) ?? new Map<string, string>();
  unableTo.set(rpc.node, known.set(method, problem));
  return new EngineUnsupportedError(problem);
}
