import type { ListedOrder } from "../../src/client/index.js";
import { orderListing } from "../../tasks/orders.js";
import type { FormatContext } from "../../tasks/output/format-value.js";
import { writeListing } from "../../tasks/output/listing.js";
import type { Listing, ListingForm } from "../../tasks/output/listing.js";
import { KeptOutput } from "./screens.js";

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

interface Written {
  readonly out?: KeptOutput;
  readonly file?: string | undefined;
  readonly scaled?: boolean;
}

interface Output {
  readonly isRead: boolean;
  readonly out: string;
  readonly err: string;
}

/** Writes a listing as a task does, and returns what is on stdout and stderr. */
export async function write<Item>(
  listing: Listing<Item>,
  form: ListingForm,
  { out = new KeptOutput(), file, scaled = false }: Written = {},
): Promise<Output> {
  const err = new KeptOutput();
  const terminal = { out, err, ask: undefined, progress: () => undefined };
  const options = { out: file, scaled };
  const isRead = await writeListing(listing, form, options, terminal);
  return { isRead, out: out.text, err: err.text };
}

export async function writeOrders(
  orders: readonly ListedOrder[],
  form: ListingForm,
  {
    legend,
    settings = {},
    ...written
  }: Written & {
    readonly legend?: string;
    readonly settings?: Partial<FormatContext>;
  } = {},
): Promise<Output> {
  const context = { chainTime: 1_700_000_000, raw: false, ...settings };
  const listing = orderListing(
    listingEnvelope,
    streamOf(orders),
    context,
    legend,
  );
  return await write(listing, form, written);
}
