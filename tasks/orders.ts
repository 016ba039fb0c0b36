import type { ListedOrder, OrdersOptions } from "../src/client/index.js";
import { parseAddress, requireFixedBlock } from "../src/client/inputs.js";
import { EMPTY_IDS_AT_END } from "../src/client/orders/last-order.js";
import { parseIds } from "../src/client/orders/read-orders.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { enumWords } from "../src/protocol/index.js";
import { escapeUntrusted, toSafeJson } from "../src/untrusted-text.js";
import type { ArgumentsOf } from "./arguments.js";
import { notes, title } from "./output/blocks.js";
import type { Envelope } from "./output/blocks.js";
import { describeCount } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import type { ListingForm } from "./output/listing.js";
import {
  Tally,
  describeScales,
  orderTables,
  toCsv,
  toNdjson,
  toOrderJson,
} from "./output/orders.js";
import { renderText } from "./output/render-text.js";
import { createStyle } from "./output/style.js";
import type { Style } from "./output/style.js";
import { describeProgress } from "./output/waiting.js";
import {
  parseInteger,
  parseOrderIds,
  parseReadTarget,
  parseWord,
} from "./parse-options.js";
import type { ReadTarget } from "./parse-options.js";
import { readAction, readEnvelope } from "./open-vault.js";
import type { ReadSurroundings } from "./open-vault.js";
import type { StreamedReport } from "./run-task.js";

interface OrdersRequest extends ReadTarget {
  readonly scan: OrdersOptions;
  readonly form: ListingForm;
}

export default readAction(parseOrdersArguments, listOrders);

/** Checks what can be checked without a network. */
export function parseOrdersArguments(
  args: ArgumentsOf<"orders">,
): OrdersRequest {
  const target = parseReadTarget(args);
  requireFixedBlock(target.blockTag, "--block");
  const { state, holder } = args;
  return {
    ...target,
    form: parseListingForm(args),
    scan: {
      ...readIds(args),
      state:
        state === undefined
          ? undefined
          : parseWord(state, enumWords.orderState, "--state"),
      holder:
        holder === undefined ? undefined : parseAddress(holder, "--holder"),
      skipEmpty: args.skipEmpty,
    },
  };
}

/** Lists orders, written as they are read. */
async function listOrders(
  vault: HardhatVault,
  { scan, form, ...target }: OrdersRequest,
  {
    args: { out, raw },
    write,
    stdout,
    stderr,
    say,
  }: ReadSurroundings<ArgumentsOf<"orders">>,
): Promise<StreamedReport> {
  const envelope = await readEnvelope(vault, target.blockTag);
  const isLines = form === "csv" || form === "ndjson";
  const tally = new Tally();
  const orders = tally.count(
    vault.orders({
      ...scan,
      from: target.from,
      blockTag: envelope.block.number,
      onProgress: (far) => {
        say(describeProgress("Reading orders", far));
      },
    }),
  );
  const chainTime = envelope.block.timestamp;
  const isSearch = scan.lastId === undefined && scan.ids === undefined;
  const pieces =
    form === "csv"
      ? toCsv(orders)
      : form === "ndjson"
        ? toNdjson(orders)
        : form === "json"
          ? toDocument(envelope, orders)
          : toText(envelope, orders, tally, {
              context: { ...vault.settings, chainTime, raw },
              style: createStyle(out === undefined ? stdout : {}),
              note: isSearch ? EVERY_ORDER : "",
            });
  const isRead = await writeListing(pieces, out, write);
  if (!isRead) {
    return { streamed: true, ok: true };
  }
  if (out !== undefined) {
    stderr.write(
      `${describeCount(tally.listed, "order")} written to ${escapeUntrusted(out)}.\n`,
    );
  }
  if (isLines && tally.empty + tally.failed > 0) {
    stderr.write(
      `${renderText([notes(...tally.describe())], createStyle(stderr))}\n`,
    );
  }
  return { streamed: true, ok: tally.failed === 0 };
}

async function* toDocument(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
): AsyncGenerator<string, void, undefined> {
  const listed = await Array.fromAsync(orders, toOrderJson);
  yield `${toSafeJson({ ...envelope, orders: listed })}\n`;
}

async function* toText(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
  tally: Tally,
  { context, style, note }: TextOptions,
): AsyncGenerator<string, void, undefined> {
  yield `${renderText([title("Orders", envelope)], style)}\n`;
  for await (const table of orderTables(orders, context)) {
    yield `${renderText([table], style)}\n\n`;
  }
  const scales = `${describeScales(context)} Fees: --json, --format ndjson or csv.${note}`;
  yield `${renderText([notes(...tally.describe(), { text: scales, tone: "dim" })], style)}\n`;
}

interface TextOptions {
  readonly context: FormatContext;
  readonly style: Style;
  readonly note: string;
}

/** What a listing without an end has to say of it. */
const EVERY_ORDER = ` The last order is the one that ${EMPTY_IDS_AT_END} empty ids follow.`;

function readIds({
  ids,
  firstId,
  lastId,
}: ArgumentsOf<"orders">): Pick<OrdersOptions, "firstId" | "lastId" | "ids"> {
  const asked = {
    ids: ids === undefined ? undefined : parseOrderIds(ids, "--ids"),
    firstId:
      firstId === undefined ? undefined : parseInteger(firstId, "--first-id"),
    lastId:
      lastId === undefined ? undefined : parseInteger(lastId, "--last-id"),
  };
  // Here too, since listing asks for accounts and block before any order.
  parseIds(asked);
  return asked;
}
