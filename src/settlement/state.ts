// What a settlement depends on, as the chain has it now: the round, and how old the newest block is.

import type { LocatedAddress } from "../client/addresses.js";
import { encodeCall, noCode } from "../client/codec.js";
import { locate, readOrThrow, readTogether } from "../client/snapshot.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { obstacleIn } from "../guard/outcome.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { getNextBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/development-node.js";
import type { CheckRound } from "../sending/look.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import type { ChosenNextBlock } from "../simulation/next-block.js";
import { Stop } from "./result.js";
import type { SettleAllOptions } from "./types.js";

/** State that a settlement depends on, at one block. */
export interface Observation {
  readonly chainId: number;
  /** The vault contract, which has code. */
  readonly contract: LocatedAddress;
  readonly block: BlockInfo;
  readonly round: VaultRound;
}

/**
 * Reads the round at one block.
 *
 * @throws VaultError VAULT_WRONG_CHAIN, VAULT_NO_CODE
 */
export async function observe(
  vault: VaultHost,
  blockTag: number | "latest",
): Promise<Observation> {
  const contract = await vault.addressOf("vault", "settleAll");
  const context = vault.readContext({ blockTag });
  const call = await locate(context, encodeCall("getLatestRoundInfo", []));
  const { chainId, block, values, codes } = await readTogether(
    context,
    [call],
    readOrThrow,
    [contract.address],
  );
  requireChain(vault, chainId);
  // settleAll returns nothing, so a call to an address without code succeeds, too.
  if (codes[0] !== true) {
    throw noCode("vault", contract, vault.networkName);
  }
  // the decoder follows the table entry that makes the type
  return { chainId, contract, block, round: values[0] as VaultRound };
}

/** The vault at the newest block, and the next one, which would have the settlement. */
export interface Current extends Observation {
  readonly next: ChosenNextBlock;
}

export async function readCurrent(
  vault: VaultHost,
  next?: ChosenNextBlock,
): Promise<Current> {
  const chosen = next ?? (await chooseNextBlock(vault));
  const { base } = chosen;
  const observed = await observe(vault.pinnedTo(base), base.number);
  return { ...observed, next: chosen };
}

/**
 * Ends a settlement if there is nothing to do. A node that is behind cannot tell: its round
 * may have ended, or another one may have begun.
 *
 * @param intended The round that was seen before; undefined at the first look.
 * @throws Stop, VaultError VAULT_STALE_HEAD
 */
export async function requireSomethingToDo(
  vault: VaultHost,
  { next, block, round }: Current,
  { ifExpired = false }: Pick<SettleAllOptions, "ifExpired">,
  intended?: VaultRound,
): Promise<void> {
  const time = await endTime(vault, block, next);
  const obstacle = obstacleIn(round, { intended, ifExpired, time });
  if (obstacle !== undefined) {
    throw (await staleHead(vault, block)) ?? new Stop(obstacle);
  }
}

/** The error for a call that the contract accepts, and that leaves the round open. */
export async function wouldNotSettle(vault: VaultHost): Promise<VaultError> {
  const [contract, factory] = await Promise.all([
    vault.addressOf("vault", "settleAll"),
    vault.addressOf("vaultFactory", "getLatestRoundInfo"),
  ]);
  return vaultError("VAULT_WOULD_NOT_SETTLE", {
    network: vault.networkName,
    contract: contract.source,
    factory: factory.source,
  });
}

/** @throws VaultError VAULT_WRONG_CHAIN */
export function requireChain(
  { connection, networkName: network }: VaultHost,
  actual: number,
): void {
  const { chainId: expected } = connection.networkConfig;
  if (expected !== undefined && expected !== actual) {
    throw vaultError("VAULT_WRONG_CHAIN", { network, expected, actual });
  }
}

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

/** @returns VAULT_STALE_HEAD if the newest block of a live network is too old. */
export async function staleHead(
  vault: VaultHost,
  { number: block, timestamp }: BlockInfo,
): Promise<VaultError | undefined> {
  const limit = maxHeadAge(vault);
  const age = Math.floor(Date.now() / 1_000) - timestamp;
  if (
    limit === undefined ||
    age <= limit ||
    (await isDevelopmentNode(vault.rpc))
  ) {
    return undefined;
  }
  const { networkName: network } = vault;
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

/** An answer that comes later is not waited for: the round is read again. */
const DEADLINE_MS = 5_000;

/** @param acceptsOldHead True if a person agreed to settle on an old block. */
export function roundChecker(
  vault: VaultHost,
  intended: VaultRound,
  { ifExpired = false }: Pick<SettleAllOptions, "ifExpired">,
  acceptsOldHead: boolean,
): CheckRound {
  return async (at) => {
    const reader = vault.withOptions({ timeout: DEADLINE_MS });
    const isNewest = at === undefined;
    const { block, round } = isNewest
      ? {
          block: await reader.block(),
          // Last, and at the newest block by then.
          round: await reader.getLatestRoundInfo(),
        }
      : await observe(reader, at);
    const time =
      isNewest && ifExpired ? await endTime(reader, block) : block.timestamp;
    const obstacle = obstacleIn(round, { intended, ifExpired, time });
    if (isNewest && obstacle === undefined && !acceptsOldHead) {
      const stale = await staleHead(reader, block);
      if (stale !== undefined) {
        throw stale;
      }
    }
    return obstacle;
  };
}
