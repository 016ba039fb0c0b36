import type { ListedOrder } from "../../src/client/index.js";
import { renderListing } from "../../tasks/output/listing.js";
import type {
  Listing,
  ListingContext,
  ListingForm,
} from "../../tasks/output/listing.js";
import { Tally, orderListing } from "../../tasks/output/orders.js";
import { createStyle } from "../../tasks/output/style.js";

export const listingEnvelope = {
  network: "live",
  chainId: 56,
  block: { number: 7, timestamp: 1_700_000_000 },
};

export async function* streamOf<Item>(
  items: readonly Item[],
): AsyncGenerator<Item, void, undefined> {
  yield* await Promise.resolve(items);
}

export function listingOf(
  orders: readonly ListedOrder[],
  settings: Partial<ListingContext> = {},
  note?: string,
): Listing<ListedOrder> {
  const context = { chainTime: 1_700_000_000, raw: false, scaled: false };
  return orderListing(
    listingEnvelope,
    streamOf(orders),
    new Tally(),
    { ...context, ...settings },
    note,
  );
}

export async function renderOrders(
  orders: readonly ListedOrder[],
  form: ListingForm,
  ...more: readonly [settings?: Partial<ListingContext>, note?: string]
): Promise<string> {
  return await textOf(listingOf(orders, ...more), form);
}

export async function textOf<Item>(
  listing: Listing<Item>,
  form: ListingForm,
): Promise<string> {
  const pieces = renderListing(listing, form, createStyle({}));
  return (await Array.fromAsync(pieces)).join("");
}
