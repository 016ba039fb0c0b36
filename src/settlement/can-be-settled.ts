import { ZeroAddress } from "ethers";

import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { fallbackTo } from "../errors.js";
import { parseAccount } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import type { VaultHost } from "../host.js";
import { getBlock } from "../rpc/blocks.js";
import type { BlockId } from "../rpc/block-id.js";
import { tryCall } from "../rpc/calls.js";
import { settlementCall } from "../settlement-call/route.js";
import { findRoute } from "../settlement-call/guarded.js";
import { explainRefusal } from "../settlement-call/outcome.js";
import { findSender } from "./signer.js";

/** The account that a settlement is tried as, without its key. */
export interface Settler {
  readonly address: string;
  /** False if only a key, which a reader does not resolve, names the account. */
  readonly isKnown: boolean;
}

/** The result of a plain call of `settleAll` at one block. */
export interface Attempt {
  /** Null if it cannot be tried, or only the refusal of an unknown account is known. */
  readonly canBeSettled: boolean | null;
  /** The account that was asked about; the zero address if none is known. */
  readonly canBeSettledBy: string;
  /** The reason if `canBeSettled` is not true. */
  readonly reason: string | null;
}

/**
 * Finds the account that would settle: the given one, else the network's `from`, else the
 * first account of the node. A configured key is not resolved.
 */
export async function findSettler(
  vault: VaultHost,
  given: AccountLike | undefined,
): Promise<Settler> {
  const { connection, context, rpc } = vault;
  const { networkConfig, networkName } = connection;
  if (given !== undefined) {
    return { address: parseAccount(given, "from"), isKnown: true };
  }
  const unknown: Settler = { address: ZeroAddress, isKnown: false };
  // A connection for reading was opened without the accounts of the configuration.
  const configured = context.config.networks[networkName];
  const hasKeys =
    configured?.type === "http" && configured.accounts !== "remote";
  if (networkConfig.from === undefined && hasKeys) {
    return unknown;
  }
  const address = await findSender(rpc, networkConfig).catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_NO_SENDER"),
  );
  return address === undefined ? unknown : { address, isKnown: true };
}

/**
 * Calls `settleAll` as the account that would settle, at the block of the readings.
 *
 * @throws VaultError if the node does not answer
 */
export async function findIfSettleable(
  vault: VaultHost,
  { address: from, isKnown }: Settler,
  { round, volume }: Pick<VaultSnapshot, "round" | "volume">,
  block: BlockId,
): Promise<Attempt> {
  const canBeSettledBy = from;
  // A call to an address without code succeeds, too.
  for (const reading of [round, volume]) {
    if (
      isFailedReading(reading) &&
      reading.error.code !== "VAULT_CALL_REVERTED"
    ) {
      const { shortMessage: reason } = reading.error;
      return { canBeSettled: null, canBeSettledBy, reason };
    }
  }
  if (!isFailedReading(round) && round.settled) {
    const reason = "the round is settled";
    return { canBeSettled: false, canBeSettledBy, reason };
  }
  const terms = isFailedReading(round) ? {} : { round };
  const route = await findRoute(vault, from, block, terms);
  const reverted = await tryCall(
    vault.rpc,
    settlementCall(route),
    block,
    (await getBlock(vault.rpc, block)).gasLimit,
  );
  if (reverted === undefined) {
    return { canBeSettled: true, canBeSettledBy, reason: null };
  }
  const { reason } = await explainRefusal(vault, reverted, route);
  return isKnown
    ? { canBeSettled: false, canBeSettledBy, reason }
    : {
        canBeSettled: null,
        canBeSettledBy,
        reason: `the zero address is refused: ${reason.replace(/\.$/u, "")}. The account that settles may not be: name it with --from, or as networks.${vault.networkName}.from`,
      };
}
