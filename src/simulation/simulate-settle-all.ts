import { withAddress } from "../client/inputs.js";
import type { VaultHost } from "../host.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { chooseNextBlock } from "../settlement-call/next-block.js";
import { parseOptions } from "./options.js";
import type { SimulateSettleAllOptions } from "./options.js";
import { simulateForwarding } from "./simulate-forwarding.js";
import type { Simulated } from "./simulate-settlement.js";

/** A simulation, and the block that it started from. */
export interface SimulatedFrom extends Simulated {
  readonly block: BlockInfo;
}

/**
 * @see HardhatVault.simulateSettleAll
 *
 * @param findSender Finds the account that settles if the options name none.
 */
export async function simulateSettleAll(
  vault: VaultHost,
  given: SimulateSettleAllOptions,
  findSender?: () => Promise<string>,
): Promise<SimulatedFrom> {
  const options = await withAddress(given);
  const asked = parseOptions(vault, options);
  const client = vault.withOptions(options);
  const [sender, next] = await Promise.all([
    asked.sender ?? findSender?.() ?? client.defaultSender(),
    chooseNextBlock(client, options.blockNumber, options.atTime),
  ]);
  const simulated = await simulateForwarding(
    client,
    { ...asked, sender },
    next,
  );
  const { number, timestamp } = next.latest;
  return { ...simulated, block: { number, timestamp } };
}
