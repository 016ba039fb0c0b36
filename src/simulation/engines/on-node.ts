import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { parseFacts } from "../../client/lens/simulation-lens.js";
import type { VaultHost } from "../../host.js";
import { isRefusedAnyhow, refusesParameters } from "../../rpc/errors.js";
import { isUsedUp } from "../../rpc/gas.js";
import { fewRetries } from "../../rpc/retry.js";
import type { BlockInfo, CallResult, Executed } from "../../rpc/rpc-client.js";
import { EngineUnsupportedError } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { isExhausted } from "../refusal.js";

/** A simulation as a node answers it; a read that ran out of gas is undefined. */
type NodeSimulation = Omit<
  EngineResult<ReadonlyArray<CallResult | undefined>>,
  "feePaid"
>;

/**
 * Simulates in one request to the node, and checks its answer.
 *
 * @param reads The number of results before the settlement, and after it.
 * @param parse Returns undefined for what is no answer of that method.
 * @throws EngineUnsupportedError if the node does not do it, or not rightly
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
    // Neither method reverts: this is how some nodes say "out of gas".
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
  // What its answer says and what the contracts see need not be the same.
  const seen = parseFacts(before[0], watched.accounts)?.block;
  if (seen === undefined) {
    throw unable(`${method} does not apply state overrides`);
  }
  requireBlock(seen);
  const { failed } = simulated;
  if (
    failed !== undefined &&
    isExhausted(failed) &&
    (failed.gasGiven < gas || !isUsedUp(failed))
  ) {
    // Geth gives one request 50 million, all its calls together.
    throw new EngineUnsupportedError(
      `the node gives ${method} ${failed.gasUsed} gas for settleAll, which uses it up`,
    );
  }
  const { number, timestamp, baseFeePerGas = 0n } = next;
  const notes = [...simulated.notes];
  if (seen.baseFee !== baseFeePerGas) {
    // Some nodes give contracts a base fee of their own.
    notes.push(
      `The node simulates with a base fee of ${seen.baseFee} wei instead of ${baseFeePerGas}: a contract that reads block.basefee can do something else when it is mined.`,
    );
  }
  const block = { number, timestamp };
  return { ...simulated, block, feePaid: 0n, before, after, notes };
}

/** The words of nodes that have no such method, or do not let it be used. */
const missingMethod =
  /(?:method|eth_\w+).*(?:not (?:found|supported|available|allowed|exist|implemented)|does(?: not|n't) exist|unsupported|disabled)|(?:unknown|unsupported) method/iu;

/** @throws EngineUnsupportedError if the node cannot, or refuses */
export async function requestOnNode(
  vault: VaultHost,
  method: string,
  params: readonly unknown[],
): Promise<Executed> {
  const { rpc } = vault;
  const known = rpc.node.unableTo.get(method);
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
      : new EngineUnsupportedError(refused, error);
  }
}

export function blockOverrides({
  next: { number, timestamp, baseFeePerGas },
}: SimulationParameters): Readonly<Record<string, string>> {
  return {
    number: numberToHexString(number),
    time: numberToHexString(timestamp),
    ...(baseFeePerGas !== undefined && {
      baseFeePerGas: numberToHexString(baseFeePerGas),
    }),
  };
}

/** The node is not asked again. */
function remember(
  { rpc }: VaultHost,
  method: string,
  problem: string,
): EngineUnsupportedError {
  rpc.node.unableTo.set(method, problem);
  return new EngineUnsupportedError(problem);
}
