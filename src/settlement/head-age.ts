import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { getNextBlock } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/development-node.js";

const DEFAULT_MAX_HEAD_AGE = 300;

/** Highest age of the newest block in seconds; undefined if it is not checked. */
export function maxHeadAge({
  connection,
  settlementSettings,
}: VaultHost): number | undefined {
  const { maxHeadAge: limit = DEFAULT_MAX_HEAD_AGE } = settlementSettings;
  return connection.networkConfig.type === "http" && limit !== false
    ? limit
    : undefined;
}

/** @returns The block's age in seconds if it exceeds the limit on a live network. */
export async function staleAge(
  vault: VaultHost,
  { timestamp }: BlockInfo,
): Promise<number | undefined> {
  const limit = maxHeadAge(vault);
  const age = Math.floor(Date.now() / 1_000) - timestamp;
  return limit !== undefined &&
    age > limit &&
    !(await isDevelopmentNode(vault.rpc))
    ? age
    : undefined;
}

export function staleHead(
  vault: VaultHost,
  block: number,
  age: number,
): VaultError {
  const { networkName: network } = vault;
  const limit = maxHeadAge(vault) ?? Infinity;
  return vaultError("VAULT_STALE_HEAD", { network, block, age, limit });
}

/**
 * The time by which a round has ended or not, Unix seconds: that of the newest block. Where
 * blocks are made on demand, the newest may be old, so it is that of the next one.
 *
 * @param next The block after it. Default: it is read.
 */
export async function endTime(
  vault: VaultHost,
  latest: BlockInfo,
  next?: BlockInfo,
): Promise<number> {
  const isOnDemand =
    maxHeadAge(vault) === undefined || (await isDevelopmentNode(vault.rpc));
  return isOnDemand
    ? (next ?? (await getNextBlock(vault.rpc)).next).timestamp
    : latest.timestamp;
}
