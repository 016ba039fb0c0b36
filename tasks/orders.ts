import {
  FAILED_IDS_AT_END,
  UNKNOWN_IDS_AT_END,
} from "../src/client/orders/types.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import type { ListedOrder, OrdersOptions } from "../src/client/orders/types.js";
import { ordersTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import { Tally, orderListing } from "./output/orders.js";
import { hideInOrder, readAction, pinVault } from "./open-vault.js";
import type { StreamedReport, TaskSurroundings } from "./run-task.js";

export default readAction(ordersTask, listOrders);

async function listOrders(
  vault: HardhatVault,
  args: TaskValues<typeof ordersTask>,
  { terminal }: TaskSurroundings,
): Promise<StreamedReport> {
  const form = parseListingForm(args);
  const { block, from, ids: selection, state, holder, limit, skipEmpty } = args;
  const { envelope, pinned } = await pinVault(vault, block);
  const isSearch =
    selection?.ids === undefined && selection?.lastId === undefined;
  const tally = new Tally();
  const orders = listed(pinned, {
    ...selection,
    state,
    holder,
    skipEmpty,
    from,
    blockTag: envelope.block.number,
    onProgress: (far) => {
      terminal.progress("Reading orders", far);
    },
  });
  const listing = orderListing(
    envelope,
    limit === undefined ? orders : newestOf(orders, limit),
    tally,
    {
      ...vault.settings,
      chainTime: envelope.block.timestamp,
      raw: args.raw,
      scaled: args.scaled,
      isShort: terminal.out.isTTY && args.out === undefined,
    },
    isSearch
      ? ` Stopped after ${UNKNOWN_IDS_AT_END} empty ids in a row, or ${FAILED_IDS_AT_END} that fail.`
      : "",
  );
  const isRead = await writeListing(listing, form, args.out, terminal);
  return { streamed: true, ok: !isRead || tally.failed === 0 };
}

async function* listed(
  vault: HardhatVault,
  options: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> {
  for await (const order of vault.orders(options)) {
    yield hideInOrder(vault, order);
  }
}

/** The last orders, the last of all first. Ids rise with time. */
async function* newestOf(
  orders: AsyncIterable<ListedOrder>,
  limit: bigint,
): AsyncGenerator<ListedOrder, void, undefined> {
  const newest: ListedOrder[] = [];
  for await (const order of orders) {
    newest.push(order);
    if (BigInt(newest.length) > limit) {
      newest.shift();
    }
  }
  yield* newest.toReversed();
}
