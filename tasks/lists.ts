import { isEmptyOrder, isFailedOrder } from "../src/client/order-reader.js";
import type { ListedOrder, Order } from "../src/client/order-reader.js";
import type { PastRound } from "../src/client/rounds.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { groupDigits, operations } from "../src/protocol/index.js";
import type { Field } from "../src/protocol/index.js";
import { tasks } from "./definitions.js";
import { writeListing } from "./output/listing.js";
import type { Listing } from "./output/listing.js";
import { present, table } from "./output/screen.js";
import type { Cell, Envelope, Table } from "./output/screen.js";
import { describeCount, formatValue } from "./output/values.js";
import type { FormatContext } from "./output/values.js";
import { hideInOrder, pinVault, readAction } from "./run-task.js";

export const ordersAction = readAction(
  tasks.orders,
  async (vault, args, { terminal }) => {
    const { ids: selection, state, holder, skipEmpty, from, raw } = args;
    const { envelope, pin } = await pinVault(vault, args.block);
    const { timestamp: chainTime } = envelope.block;
    const orders = vault.orders({
      ...selection,
      state,
      holder,
      skipEmpty,
      from,
      blockTag: pin,
      onProgress: (far) => terminal.progress("Reading orders", far),
    });
    const newest = newestOf(vault, orders, args.limit);
    const context = { ...vault.display, chainTime, raw };
    const listing = orderListing(envelope, newest, context);
    const isRead = await writeListing(listing, args, terminal);
    return !isRead || listing.failures() === 0;
  },
);

/** Hides secrets. With a limit, the last orders, the last of all first: ids rise with time. */
async function* newestOf(
  vault: HardhatVault,
  orders: AsyncIterable<ListedOrder>,
  limit: number | undefined,
): AsyncGenerator<ListedOrder, void, undefined> {
  const newest: ListedOrder[] = [];
  for await (const order of orders) {
    const safe = hideInOrder(vault, order);
    if (limit === undefined) {
      yield safe;
    } else if (newest.push(safe) > limit) {
      newest.shift();
    }
  }
  yield* newest.toReversed();
}

const { outputs: orderFields } = operations.getOrderInfo;

/** An order, as JSON has it. */
type OrderItem = ListedOrder & { readonly empty?: true };

export function orderListing(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
  context: FormatContext,
): Listing<OrderItem> & { readonly failures: () => number } {
  let [empty, failed] = [0, 0];
  let first = "";
  async function* items(): AsyncGenerator<OrderItem, void, undefined> {
    for await (const order of orders) {
      if (isFailedOrder(order)) {
        failed += 1;
        first ||= `The first, ${order.orderID}: ${order.error.shortMessage}`;
      }
      const isEmpty = isEmptyOrder(order);
      empty += isEmpty ? 1 : 0;
      yield isEmpty ? { ...order, empty: true } : order;
    }
  }
  return {
    operation: "getOrderInfo",
    envelope,
    context,
    items: items(),
    toJson: (all) => ({ orders: all }),
    columns: [
      "orderID",
      ...orderFields.map(({ name }) => name),
      "status",
      "error",
    ],
    toRow: (order) =>
      isFailedOrder(order)
        ? {
            orderID: order.orderID,
            status: "failed",
            error: `${order.error.code}: ${order.error.shortMessage}`,
          }
        : { ...order, status: order.empty === true ? "empty" : "ok" },
    toTable: (some, width) => orderTable(some.filter(isOrder), context, width),
    failures: () => failed,
    doubts: () =>
      present([
        empty > 0 &&
          `Empty, with every value zero: ${describeCount(empty, "id")}.`,
        failed > 0 && `Failed: ${describeCount(failed, "id")}. ${first}`,
      ]),
  };
}

export function isOrder(order: OrderItem): order is Order {
  return !isFailedOrder(order) && order.empty !== true;
}

/** The columns that fit a terminal; JSON and CSV have all of them. */
const shownOrderFields = orderFields.filter(
  ({ name }) => !/^(?:exFee|lockFee|newLockFee|marginFee)$/u.test(name),
);

function orderTable(
  orders: readonly Order[],
  context: FormatContext,
  width: number,
): Table {
  const isShort = width !== Infinity && !context.raw;
  return table(
    [
      "Id",
      ...shownOrderFields.map(({ label }) =>
        isShort ? label.replace("Open positions", "Positions") : label,
      ),
    ],
    orders.map((order) => [
      `${order.orderID}`,
      ...shownOrderFields.map((field) => {
        const cell = formatValue(field, order[field.name], context);
        return isShort ? shorten(field, cell) : cell;
      }),
    ]),
  );
}

/** So that an order has one line of 120 columns. What is cut is marked, and never rounded. */
function shorten({ type }: Field, cell: Cell): Cell {
  const { text } = cell;
  if (type === "address") {
    return { text: `${text.slice(0, 6)}…${text.slice(-4)}` };
  }
  // Strings are the chain's.
  if (type !== "uint256") {
    return cell;
  }
  const digits = text.replaceAll(/\D/gu, "");
  if (text.endsWith(" raw") && digits.length > 9) {
    const [first = "", ...others] = digits;
    const shown = `${first}.${others.slice(0, 4).join("")}…e${others.length}`;
    return { text: shown, footnote: CUT };
  }
  const date = text.replace(/T.*/u, "");
  return { ...cell, text: date.replace(/(\.\d{4})\d+/u, "$1…") };
}

const CUT =
  "Values such as 6.4123…e22 are unscaled integers, cut: see tokenDecimals and displayDecimals.";

export const roundsAction = readAction(
  tasks.rounds,
  async (vault, args, { terminal }) => {
    const { fromBlock, block, toBlock = block, from, raw } = args;
    const { envelope, pin } = await pinVault(vault, toBlock);
    const rounds = vault.rounds({
      fromBlock,
      toBlock: pin,
      from,
      onProgress: (far) => terminal.progress("Reading blocks", far),
    });
    const chainTime = envelope.block.timestamp;
    const context = { ...vault.display, chainTime, raw };
    const listing = roundListing(envelope, rounds, context);
    await writeListing(listing, args, terminal);
    return true;
  },
);

const { outputs: roundFields } = operations.getLatestRoundInfo;

export function roundListing(
  envelope: Envelope,
  rounds: AsyncIterable<PastRound>,
  context: FormatContext,
): Listing<PastRound> {
  const latest = envelope.block.number;
  const seen: PastRound[] = [];
  async function* items(): AsyncGenerator<PastRound, void, undefined> {
    for await (const round of rounds) {
      seen.push(round);
      yield round;
    }
  }
  const doubts = (): readonly string[] => doubtsAbout(seen, latest);
  return {
    operation: "getLatestRoundInfo",
    envelope,
    context,
    items: items(),
    toJson: (all) => ({ rounds: all, notes: doubts() }),
    columns: [
      ...roundFields.map(({ name }) => name),
      "firstBlock",
      "settledBlock",
      "lastBlock",
      "outOfOrder",
    ],
    toRow: (round) => ({ outOfOrder: false, ...round }),
    toTable: (some) => roundTable(some, latest, context),
    doubts,
  };
}

/** The values that fit a terminal; JSON and CSV have all of them. */
const shownRoundFields = roundFields.filter(({ name }) =>
  /^(?:startTime|endTime|strikePrice|filledVolume|settledPrice)$/u.test(name),
);

function roundTable(
  rounds: readonly PastRound[],
  latest: number,
  context: FormatContext,
): Table {
  return table(
    [
      ...shownRoundFields.map(({ label }) => label.replace(" volume", "")),
      "First block",
      "Settled in",
    ],
    rounds.map((round) => {
      const { firstBlock, settledBlock, lastBlock, settled } = round;
      const absent = lastBlock === latest ? "not yet" : "not seen";
      const unknown = settled ? "before" : absent;
      return [
        ...shownRoundFields.map((field) =>
          round[field.name] === null
            ? absent
            : formatValue(field, round[field.name], context),
        ),
        groupDigits(`${firstBlock}`),
        settledBlock === null ? unknown : groupDigits(`${settledBlock}`),
      ];
    }),
  );
}

function doubtsAbout(rounds: readonly PastRound[], latest: number): string[] {
  return rounds.flatMap(({ firstBlock, lastBlock, outOfOrder }, index) => {
    const next = rounds[index + 1]?.firstBlock ?? latest + 1;
    return present([
      outOfOrder === true &&
        `The round first seen in block ${firstBlock} breaks the order that the search relies on: a round before it starts later, or it came back, or it stopped being settled. There may be rounds that were passed over.`,
      lastBlock + 1 < next &&
        `No round could be read from block ${lastBlock + 1} to ${next - 1}: the contract was not there, or had none.`,
    ]);
  });
}
