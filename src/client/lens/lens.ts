import { Interface } from "ethers";

import { VaultError, fallbackTo, vaultError } from "../../errors.js";
import { quoteForeignText } from "../../untrusted-text.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { VaultLensArtifact } from "./artifact.js";
import { parseLensAnswer } from "./lens-answer.js";
import type { LensAnswer } from "./lens-answer.js";

/** The node, the caller and the block of what a lens reads. */
export interface LensContext {
  readonly rpc: RpcClient;
  /** The caller that the contracts see. */
  readonly from: string;
  /** As on the wire. */
  readonly blockTag: string;
}

const lensInterface = new Interface(VaultLensArtifact.abi);

/** One of the calls that a lens makes. */
export interface ReadCall {
  readonly target: string;
  readonly data: string;
}

/** One snapshot is much like the one before. */
let latest = { key: "", data: "" };

/** Call data that reads several contracts. */
export function encodeReadCalls(calls: readonly ReadCall[]): string {
  const key = calls.map(({ target, data }) => `${target}:${data}`).join();
  if (key !== latest.key || key === "") {
    const list = calls.map(({ target, data }) => [target, data]);
    const data = lensInterface.encodeFunctionData("readCalls", [list]);
    latest = { key, data };
  }
  return latest.data;
}

/** Call data that reads orders by id, at most `count` of them. */
export function encodeReadOrders(
  trading: string,
  firstId: bigint,
  count: number,
): string {
  return lensInterface.encodeFunctionData("readOrders", [
    trading,
    firstId,
    count,
  ]);
}

/**
 * Asks once if the node applies state overrides.
 *
 * @throws VaultError if the node does not answer anything else either
 */
export async function isLensSupported({
  rpc,
  from,
}: Omit<LensContext, "blockTag">): Promise<boolean> {
  if (rpc.node.takesOverrides === undefined) {
    // At the latest block: another may be unknown or pruned.
    await tryLens({ rpc, from, blockTag: "latest" });
  }
  return rpc.node.takesOverrides === true;
}

/**
 * The answers of some contracts, or only the chain's id and the block, in one
 * request.
 *
 * @returns Undefined if the node cannot do that.
 * @throws VaultError if the node does not answer at all
 */
export async function tryLens(
  context: LensContext,
  calls: readonly ReadCall[] = [],
): Promise<LensAnswer | undefined> {
  const { rpc, from } = context;
  if (
    rpc.node.takesOverrides === false ||
    // The lens would stand in the place of what is to be read.
    calls.some(({ target }) => target === from)
  ) {
    return undefined;
  }
  try {
    return await callLens(context, encodeReadCalls(calls));
  } catch (error) {
    if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
      throw error;
    }
  }
  if (rpc.node.takesOverrides === undefined) {
    // It may be this call, or a node that fails for a moment; what is remembered
    // here stays.
    await rpc.chainId();
    const probe = { rpc, from, blockTag: "latest" };
    rpc.node.takesOverrides = await callLens(probe, encodeReadCalls([])).then(
      () => true,
      fallbackTo(false, ({ code }) => refusals.has(code)),
    );
  }
  return undefined;
}

const refusals: ReadonlySet<string> = new Set([
  "VAULT_RPC_ERROR",
  "VAULT_RPC_INVALID_RESPONSE",
  // An HTTP status, or a closed connection, as a proxy refuses.
  "VAULT_NETWORK_UNREACHABLE",
]);

/**
 * Runs the lens inside one `eth_call`.
 *
 * Its code is put at the address of the caller, so that to the contracts it
 * reads it is that caller. Whatever code the caller has is hidden meanwhile.
 *
 * @throws VaultError those of a failed request, and
 * VAULT_RPC_INVALID_RESPONSE if the answer is not the lens'
 */
export async function callLens(
  { rpc, from, blockTag }: LensContext,
  data: string,
): Promise<LensAnswer> {
  const answer = await rpc.call({ from, to: from, data }, blockTag, {
    [from]: { code: VaultLensArtifact.deployedBytecode },
  });
  if ("reverted" in answer) {
    // The lens never reverts: this is how some nodes say "out of gas".
    throw vaultError("VAULT_RPC_ERROR", {
      network: rpc.network,
      method: "eth_call",
      problem: quoteForeignText(answer.reverted.text),
    });
  }
  const parsed = parseLensAnswer(answer.data);
  if (parsed === undefined) {
    throw rpc
      .parser("eth_call")
      .invalid("a call with a state override has no such answer");
  }
  rpc.node.takesOverrides = true;
  if (blockTag === "latest") {
    // What is asked next is of that block, maybe of a node that is behind.
    // By the EVM's number, which may be another than the chain's.
    rpc.noteBlock(parsed.block.number);
  }
  // A chain may number its blocks otherwise than its EVM does.
  return blockTag.startsWith("0x")
    ? { ...parsed, block: { ...parsed.block, number: Number(blockTag) } }
    : parsed;
}
