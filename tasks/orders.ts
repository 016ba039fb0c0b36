import { EMPTY_IDS_AT_END } from "../src/client/orders/last-order.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { taskArguments } from "./arguments.js";
import type { ArgumentsOf } from "./arguments.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import { Tally, orderListing } from "./output/orders.js";
import { readAction, readEnvelope } from "./open-vault.js";
import type { StreamedReport, TaskSurroundings } from "./run-task.js";

export default readAction(taskArguments.orders, listOrders, parseListingForm);

async function listOrders(
  vault: HardhatVault,
  args: ArgumentsOf<"orders">,
  { terminal }: TaskSurroundings,
): Promise<StreamedReport> {
  const { block, from, ids: selection, state, holder, skipEmpty } = args;
  const envelope = await readEnvelope(vault, block);
  const isSearch =
    selection === undefined ||
    ("firstId" in selection && selection.lastId === undefined);
  const tally = new Tally();
  const listing = orderListing(
    envelope,
    vault.orders({
      ...selection,
      state,
      holder,
      skipEmpty,
      from,
      blockTag: envelope.block.number,
      onProgress: (far) => {
        terminal.progress("Reading orders", far);
      },
    }),
    tally,
    {
      ...vault.settings,
      chainTime: envelope.block.timestamp,
      raw: args.raw,
    },
    isSearch ? ` Stopped after ${EMPTY_IDS_AT_END} empty ids in a row.` : "",
  );
  const isRead = await writeListing(listing, args, terminal);
  return { streamed: true, ok: !isRead || tally.failed === 0 };
}
