// The round to settle, as the chain has it now, and how old the newest block is.

import type { LocatedAddress } from "../client/contracts.js";
import { encodeCall, noCode } from "../client/codec.js";
import {
  failedReading,
  isFailedReading,
  locate,
  pinBlock,
  readPinned,
} from "../client/read-at-block.js";
import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeTime } from "../protocol/index.js";
import type { VaultRound } from "../protocol/index.js";
import {
  NO_ROUND,
  describeRound,
  hasEnded,
  isSameRound,
} from "../protocol/round.js";
import { getNextBlock } from "../rpc/blocks.js";
import type { BlockInfo, NextBlock, PinnedBlock } from "../rpc/blocks.js";
import { hasCode, isDevelopmentNode } from "../rpc/chain.js";
import { nothingToDo, refusedBy } from "../sending/job.js";
import type { CheckRound, Stopped } from "../sending/job.js";

/** A vault and its round at one block. */
export interface RoundAtBlock {
  readonly chainId: number;
  /** The vault contract, which has code. */
  readonly contract: LocatedAddress;
  readonly block: BlockInfo;
  readonly round: VaultRound;
}

/** @throws VaultError VAULT_WRONG_CHAIN, VAULT_NO_CODE */
export async function readRoundAt(
  vault: VaultHost,
  blockTag: PinnedBlock | number | "latest",
): Promise<RoundAtBlock> {
  const contract = await vault.addressOf("vault", "settleAll");
  const context = vault.readContext({ blockTag });
  const round = await locate(context, encodeCall("getLatestRoundInfo", []));
  // settleAll returns nothing, so a call to an address without code succeeds, too: a
  // reading of the vault does not.
  const volume = await locate(context, encodeCall("queryVolume", []));
  const { block, pin } = await pinBlock(context);
  const { chainId, values } = await readPinned(
    context,
    pin,
    [round, volume],
    failedReading,
  );
  requireChain(vault, chainId);
  const [found, volumeFound] = values;
  // That it fails proves nothing.
  if (
    isFailedReading(volumeFound) &&
    !(await hasCode(vault.rpc, contract.address, pin))
  ) {
    throw noCode("vault", contract, vault.networkName);
  }
  if (isFailedReading(found)) {
    throw found.error;
  }
  // the decoder follows the table entry that makes the type
  return { chainId, contract, block, round: found as VaultRound };
}

/** The round at the newest block, and the next block, which would have the settlement. */
export interface CurrentRound extends RoundAtBlock {
  readonly next: NextBlock;
}

/** @throws VaultError VAULT_STALE_HEAD: a node that is behind has an old round */
export async function readCurrentRound(
  vault: VaultHost,
): Promise<CurrentRound> {
  const next = await getNextBlock(vault.rpc);
  const { base } = next;
  const found = await readRoundAt(vault, base);
  await requireFreshHead(vault, found.block);
  return { ...found, next };
}

export interface IntendedRound {
  /** True if the round must have ended. */
  readonly ifExpired: boolean;
  /** The round that was seen before; undefined at the first look. */
  readonly intended?: VaultRound | undefined;
}

/** @returns Why the round is not to be settled; undefined if it is. */
export async function findObstacle(
  vault: VaultHost,
  { block, round }: Pick<CurrentRound, "block" | "round">,
  { intended, ifExpired }: IntendedRound,
): Promise<Stopped | undefined> {
  if (intended !== undefined && !isSameRound(round, intended)) {
    const [expected, actual] = [describeRound(intended), describeRound(round)];
    return refusedBy(vaultError("VAULT_ROUND_CHANGED", { expected, actual }));
  }
  if (round.settled) {
    return nothingToDo("The round is settled already.");
  }
  if (!ifExpired) {
    return undefined;
  }
  const isOver = hasEnded(round, await clockForRoundEnd(vault, block));
  if (isOver === null) {
    return nothingToDo(NO_ROUND);
  }
  const reason = `The round has not ended yet: it ends at ${describeTime(round.endTime)}.`;
  return isOver ? undefined : { ...nothingToDo(reason), isEarly: true };
}

/** A read that takes longer is not waited for: the round is read again. */
const READ_AGAIN_MS = 5_000;

export function roundChecker(
  vault: VaultHost,
  intended: IntendedRound,
): CheckRound {
  return async (at) => {
    const vaultWithDeadline = vault.withOptions({ timeout: READ_AGAIN_MS });
    if (at !== undefined) {
      return await findObstacle(
        vaultWithDeadline,
        await readRoundAt(vaultWithDeadline, at),
        intended,
      );
    }
    const block = await vaultWithDeadline.block();
    await requireFreshHead(vaultWithDeadline, block);
    // Last, and at the newest block by then.
    const round = await vaultWithDeadline.getLatestRoundInfo();
    return await findObstacle(vaultWithDeadline, { block, round }, intended);
  };
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
  settings,
}: VaultHost): number | undefined {
  const { maxHeadAge: limit = DEFAULT_MAX_HEAD_AGE } = settings;
  return connection.networkConfig.type === "http" && limit !== false
    ? limit
    : undefined;
}

/** @throws VaultError VAULT_STALE_HEAD if the newest block of a live network is too old */
export async function requireFreshHead(
  vault: VaultHost,
  { number: block, timestamp }: BlockInfo,
): Promise<void> {
  const limit = maxHeadAge(vault);
  const age = Math.floor(Date.now() / 1_000) - timestamp;
  if (
    limit !== undefined &&
    age > limit &&
    !(await isDevelopmentNode(vault.rpc))
  ) {
    const { networkName: network } = vault;
    throw vaultError("VAULT_STALE_HEAD", { network, block, age, limit });
  }
}

/**
 * The time by which a round has ended or not, Unix seconds: that of the newest block. Where
 * blocks are made on demand, the newest may be old, so it is that of the next one.
 */
export async function clockForRoundEnd(
  vault: VaultHost,
  latest: BlockInfo,
): Promise<number> {
  const isOnDemand =
    maxHeadAge(vault) === undefined || (await isDevelopmentNode(vault.rpc));
  const { timestamp } = isOnDemand ? await getNextBlock(vault.rpc) : latest;
  return timestamp;
}
