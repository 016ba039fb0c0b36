import type { ListedOrder } from "../../src/client/index.js";
import { orderListing } from "../../tasks/lists.js";
import type { FormatContext } from "../../tasks/output/values.js";
import { writeListing } from "../../tasks/output/listing.js";
import type { Listing } from "../../tasks/output/listing.js";
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

type FormOptions = Parameters<typeof writeListing>[1];

/** The form of a listing on stdout, or the options that choose one. */
export type Form = "table" | "json" | "ndjson" | "csv" | Partial<FormOptions>;

function optionsOf(form: Form): FormOptions {
  const none = { format: undefined, out: undefined, scaled: false };
  if (typeof form !== "string") {
    return { ...none, json: false, ...form };
  }
  return form === "table" || form === "json"
    ? { ...none, json: form === "json" }
    : { ...none, json: false, format: form };
}

interface Output {
  readonly isRead: boolean;
  readonly out: string;
  readonly err: string;
}

/** Writes a listing as a task does, and returns what is on stdout and stderr. */
export async function write<Item>(
  listing: Listing<Item>,
  form: Form,
  out = new KeptOutput(),
): Promise<Output> {
  const err = new KeptOutput();
  const isRead = await writeListing(listing, optionsOf(form), { out, err });
  return { isRead, out: out.text, err: err.text };
}

export async function writeOrders(
  orders: readonly ListedOrder[],
  form: Form,
  settings: Partial<FormatContext> = {},
  out?: KeptOutput,
): Promise<Output> {
  const context = { chainTime: 1_700_000_000, raw: false, ...settings };
  const listing = orderListing(listingEnvelope, streamOf(orders), context);
  return await write(listing, form, out);
}
