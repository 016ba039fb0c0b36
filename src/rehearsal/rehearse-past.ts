import pMap from "p-map";

import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { BlockInfo } from "../rpc/node.js";
import { nextBlockAfter } from "./question.js";
import { rehearseSettlement } from "./simulate-settle-all.js";
import type { SimulationStatus } from "./types.js";

/** Blocks that are rehearsed at a time. */
const CONCURRENCY = 8;

/** What a settlement would have done at a past block. */
export interface PastRehearsal {
  /** The block whose state it starts from. */
  readonly block: BlockInfo;
  readonly status: SimulationStatus;
  /** Why not; null where it would have settled. */
  readonly reason: string | null;
  readonly gasUsed: bigint | null;
  /** As the round would have them; null where it would not be settled. */
  readonly settledPrice: bigint | null;
  readonly settledAmount: bigint | null;
}

/** What stands in the place of a block that nothing can be rehearsed at. */
export interface FailedRehearsal {
  readonly block: { readonly number: number };
  readonly error: VaultError;
}

export type ListedRehearsal = PastRehearsal | FailedRehearsal;

/**
 * Rehearses a settlement in the block after each of these: one request in which
 * it is executed, and one for the header before it. That one cannot be saved. A
 * simulated block that is not told its time is dated as the node likes (anvil:
 * as its parent; geth: 1 or 12 seconds later, by its version), which decides
 * whether a round has ended; its gas limit is told too, since the readings count
 * towards it; and neither answer tells the time of the block it starts from.
 *
 * @param onProgress Called each time a block is done, with how many are.
 */
export async function rehearsePast(
  whole: VaultHost,
  blocks: readonly number[],
  sender: string,
  onProgress: (done: number) => void = () => undefined,
): Promise<readonly ListedRehearsal[]> {
  const vault = whole.during({});
  let done = 0;
  return await pMap(
    blocks,
    async (number): Promise<ListedRehearsal> => {
      try {
        return await rehearseAfter(vault, number, sender);
      } catch (error) {
        if (!VaultError.isVaultError(error) || !isOfOneBlock(error)) {
          throw error;
        }
        return { block: { number }, error };
      } finally {
        done += 1;
        onProgress(done);
      }
    },
    { concurrency: CONCURRENCY },
  );
}

/** Whether other blocks may fare better. */
function isOfOneBlock({ code, kind }: VaultError): boolean {
  return kind === "chain" || code === "VAULT_ARCHIVE_NODE_NEEDED";
}

async function rehearseAfter(
  vault: VaultHost,
  number: number,
  sender: string,
): Promise<PastRehearsal> {
  const header = await vault.chain.header(number);
  const { simulation, roundAfter } = await rehearseSettlement(
    vault,
    // No balance is shown, so no price has to be asked for.
    { sender, pricePerGas: 0n, isPast: true },
    nextBlockAfter(header),
  );
  const { status, reason, gasUsed } = simulation;
  // One that opens its next round leaves nothing to read of the one before.
  const settled =
    status === "settled" && roundAfter?.settled === true
      ? roundAfter
      : undefined;
  return {
    block: { number: header.number, timestamp: header.timestamp },
    status,
    reason,
    gasUsed,
    settledPrice: settled?.settledPrice ?? null,
    settledAmount: settled?.settledAmount ?? null,
  };
}
