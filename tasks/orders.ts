import type { ListedOrder } from "../src/client/index.js";
import { EMPTY_IDS_AT_END } from "../src/client/orders/last-order.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted, toSafeJson } from "../src/untrusted-text.js";
import { taskArguments } from "./arguments.js";
import type { ArgumentsOf } from "./arguments.js";
import { notes, title } from "./output/blocks.js";
import type { Envelope } from "./output/blocks.js";
import { describeCount } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { parseListingForm, writeListing } from "./output/listing.js";
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
import { readAction, readEnvelope } from "./open-vault.js";
import type { StreamedReport, TaskSurroundings } from "./run-task.js";

export default readAction(taskArguments.orders, listOrders, parseListingForm);

/** Lists orders, written as they are read. */
async function listOrders(
  vault: HardhatVault,
  args: ArgumentsOf<"orders">,
  { terminal }: TaskSurroundings,
): Promise<StreamedReport> {
  const { block, from, ids: selection, state, holder, skipEmpty } = args;
  const { out, raw } = args;
  const form = parseListingForm(args);
  const { err } = terminal;
  const envelope = await readEnvelope(vault, block);
  const isLines = form === "csv" || form === "ndjson";
  const tally = new Tally();
  const orders = tally.count(
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
  );
  const chainTime = envelope.block.timestamp;
  const isSearch =
    selection === undefined ||
    ("firstId" in selection && selection.lastId === undefined);
  const pieces =
    form === "csv"
      ? toCsv(orders)
      : form === "ndjson"
        ? toNdjson(orders)
        : form === "json"
          ? toDocument(envelope, orders)
          : toText(envelope, orders, tally, {
              context: { ...vault.settings, chainTime, raw },
              style: out === undefined ? terminal.out.style : createStyle({}),
              note: isSearch ? EVERY_ORDER : "",
            });
  const isRead = await writeListing(pieces, out, terminal);
  if (!isRead) {
    return { streamed: true, ok: true };
  }
  if (out !== undefined) {
    await err.write(
      `${describeCount(tally.listed, "order")} written to ${escapeUntrusted(out)}.\n`,
    );
  }
  if (isLines && tally.empty + tally.failed > 0) {
    await err.write(`${renderText([notes(...tally.describe())], err.style)}\n`);
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
