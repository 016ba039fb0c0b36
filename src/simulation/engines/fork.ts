import { dataSlice } from "ethers";

import type { AddressResolver } from "../../client/addresses.js";
import { absentContract } from "../../client/failed-reading.js";
import type { BlockTag } from "../../client/inputs.js";
import { checkOptionNames } from "../../client/option-names.js";
import type { OptionNames } from "../../client/option-names.js";
import { assertInvariant, fallbackTo } from "../../errors.js";
import type { VaultHost } from "../../host.js";
import { contractRoleNames } from "../../protocol/index.js";
import { getBlock, getBlockNumber } from "../../rpc/blocks.js";
import { tryCall } from "../../rpc/calls.js";
import { isDevelopmentNode } from "../../rpc/development-node.js";
import { isNodeRefusal } from "../../rpc/errors.js";
import type { RevertReason } from "../../rpc/revert-reason.js";
import { settlementCall } from "../../settlement-call/route.js";
import { EngineUnsupportedError } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { needsOfFork, needsOfReads, parseWarmCall } from "../fork-needs.js";
import type { WarmCall } from "../fork-needs.js";
import {
  createFork,
  instanceNames,
  requireForkNetwork,
  requireHttp,
} from "../make-fork.js";
import type { ForkConnection } from "../make-fork.js";
import { readUpstreamBlock } from "../../settlement-call/next-block.js";
import { FORK_REQUESTS } from "../upstream.js";
import { executeSettlement, simulatorOf } from "./in-process.js";

/** Block and rules that a fork begins with. */
export interface ForkedBlock {
  /**
   * Block to fork: a number, `safe` or `finalized`. Default: the newest. An older block
   * needs a node that still has its state.
   */
  readonly blockNumber?: BlockTag | undefined;
  /**
   * Example: "prague". Default: Hardhat's newest. From "osaka" on, a transaction may use
   * at most 16,777,216 gas.
   */
  readonly hardfork?: string | undefined;
}

/** Options of `fork()`. */
export interface ForkOptions extends ForkedBlock {
  /**
   * Calls that will be made on the fork: their state is fetched beforehand, in two
   * requests. That of `snapshot()` and `settleAll()` is fetched in any case.
   */
  readonly warm?: readonly WarmCall[] | undefined;
}

export const forkedBlockOptionNames: OptionNames<ForkedBlock> = {
  blockNumber: true,
  hardfork: true,
};

const forkOptionNames: OptionNames<ForkOptions> = {
  ...forkedBlockOptionNames,
  warm: true,
};

/** Hardhat's simulator crashes the process at a larger panic code. */
const LARGEST_PANIC = 2n ** 64n - 1n;

/** @see HardhatVault.fork */
export async function fork(
  vault: VaultHost,
  options: ForkOptions,
): Promise<ForkConnection> {
  checkOptionNames("fork()", options, forkOptionNames);
  const { blockNumber, hardfork, warm: more = [] } = options;
  requireHttp(vault);
  const network = requireForkNetwork(vault);
  const calls = more.map(parseWarmCall);
  const names = [undefined, ...instanceNames(vault)];
  const vaults = names.map((name) =>
    name === undefined ? vault : vault.instance(name),
  );
  const guards = await Promise.all(
    vaults.map(async (one) => (await one.guardAddress())?.address),
  );
  const isPast = (blockNumber ?? "latest") !== "latest";
  const [block, head, chainId, isDevelopment, ...addresses] = await Promise.all(
    [
      readUpstreamBlock(vault, blockNumber),
      isPast ? getBlockNumber(vault.rpc) : 0,
      vault.chainId(),
      isDevelopmentNode(vault.rpc),
      ...vaults.map(resolveAddresses),
    ],
  );
  return await createFork(vault, {
    block,
    chainId,
    isDevelopment,
    upstream: (name) => addresses[names.indexOf(name)],
    guards: new Map(names.map((name, index) => [name, guards[index]])),
    hardfork,
    isPast,
    head,
    needs: needsOfFork(vault, network, block.number, calls),
  });
}

/** Simulates on a fork in this process, which fetches state from the node on demand. */
export async function runFork(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  // The fork sends its own requests: after the deadline it finishes them, then closes.
  return await parameters.vault.rpc.withinDeadline(
    FORK_REQUESTS,
    simulateOnFork(parameters),
  );
}

async function simulateOnFork(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const { vault, sender, route, watched, next, hardfork } = parameters;
  const { coinbase } = requireForkNetwork(vault);
  const needs = needsOfReads(vault, coinbase, watched);
  const number = next.number - 1;
  const call = settlementCall(route);
  const [header, head, chainId, isDevelopment, plain] = await Promise.all([
    getBlock(vault.rpc, number),
    next.isPast === true ? getBlockNumber(vault.rpc) : 0,
    vault.chainId(),
    isDevelopmentNode(vault.rpc),
    callPlainly(vault, parameters),
  ]);
  const reverted = plain?.reverted;
  if (
    reverted?.kind === "panic" &&
    BigInt(dataSlice(reverted.data, 4)) > LARGEST_PANIC
  ) {
    throw new EngineUnsupportedError(
      `Hardhat's simulator ends the process at ${reverted.text}`,
    );
  }
  const connection = await createFork(vault, {
    needs: Promise.resolve({ ...needs, calls: [...needs.calls, call] }),
    isPast: next.isPast,
    head,
    hardfork,
    block: { ...header, gasLimit: next.gasLimit },
    chainId,
    isDevelopment,
    simulation: {
      accounts: [],
      // The chain's cap is not known, so the hardfork's is lifted.
      ...(hardfork === undefined && { transactionGasCap: next.gasLimit }),
    },
  });
  try {
    const rpc = simulatorOf(connection.vault);
    await rpc.request("evm_setAutomine", [false]);
    await rpc.request("hardhat_impersonateAccount", [sender]);
    if (hardfork === undefined) {
      await requireSameVerdict(connection.vault, parameters, plain);
    }
    return await executeSettlement(
      { ...parameters, vault: connection.vault },
      // A node's pending block may have the timestamp of the latest.
      Math.max(next.timestamp, header.timestamp + 1),
      "Executed by Hardhat's EVM: precompiles and gas rules of the chain's own are not there.",
    );
  } finally {
    await connection.close();
  }
}

/** Verdict of one `eth_call` of the settlement; undefined if it cannot be had. */
type PlainCall = { readonly reverted: RevertReason | undefined } | undefined;

async function callPlainly(
  vault: VaultHost,
  { route, next, gas }: SimulationParameters,
): Promise<PlainCall> {
  const call = settlementCall(route);
  return await tryCall(
    vault.rpc,
    call,
    next.number - 1,
    gas ?? next.gasLimit,
  ).then(
    (reverted) => ({ reverted }),
    // A node that prunes old state refuses all that the fork would fetch, too.
    fallbackTo(
      undefined,
      (error) => next.isPast !== true || !isNodeRefusal(error),
    ),
  );
}

/**
 * Makes the same call in the same block on the fork as on the node. If only one of them
 * reverts, the chain has precompiles or rules of its own, and the fork proves nothing.
 */
async function requireSameVerdict(
  forked: VaultHost,
  parameters: SimulationParameters,
  onNode: PlainCall,
): Promise<void> {
  const onFork = await callPlainly(forked, parameters);
  if (onNode === undefined || onFork === undefined) {
    return;
  }
  const [there, here] = [onNode, onFork].map(({ reverted }) =>
    reverted === undefined
      ? "accepts the call"
      : `refuses it (${reverted.text})`,
  );
  if ((onNode.reverted === undefined) !== (onFork.reverted === undefined)) {
    throw new EngineUnsupportedError(
      `in block ${parameters.next.number - 1} the node ${there}, and Hardhat's simulator ${here}`,
    );
  }
}

/** Looks up all addresses now: the vault may be closed before its fork. */
async function resolveAddresses(vault: VaultHost): Promise<AddressResolver> {
  const found = new Map(
    contractRoleNames.map((role) => [
      role,
      vault.addressOf(role).catch(absentContract),
    ]),
  );
  await Promise.allSettled(found.values());
  return async (role) => {
    const address = await found.get(role);
    assertInvariant(address !== undefined, `${role} was not resolved`);
    if (!("error" in address)) {
      return address;
    }
    const { path: setting, hint } = address.error.details;
    return { path: String(setting), hint: String(hint) };
  };
}
