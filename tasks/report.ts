import { formatUnits } from "ethers";

import type { Order } from "../src/client/order-reader.js";
import type { PastRound } from "../src/client/rounds.js";
import { escapeUntrusted } from "../src/foreign-text.js";
import {
  LAST_DATE_SECONDS,
  describeTime,
  operations,
  standaloneOperations,
  units,
} from "../src/protocol/index.js";
import { requireSameBranch } from "../src/rpc/blocks.js";
import { findSender } from "../src/sending/signer.js";
import { tasks } from "./definitions.js";
import { chapter, notes, section, title, toned } from "./output/screen.js";
import type { Part } from "./output/screen.js";
import { requireReplaceable, writeToFile } from "./output/listing.js";
import { chart, renderPage } from "./output/render-html.js";
import type { Markup } from "./output/render-html.js";
import { simulationParts } from "./output/settlement.js";
import {
  decimalsOf,
  describeCount,
  readingsPart,
  snapshotParts,
} from "./output/values.js";
import type { FormatContext } from "./output/values.js";
import { hideInOrder, readAction, selectedNetwork } from "./run-task.js";
import { isOrder, orderListing, roundListing } from "./lists.js";
import { simulateToShow } from "./settle.js";
import { readState, settlementValues } from "./status.js";

/** Those that have no place of their own before. */
const otherOperations = standaloneOperations.filter(
  (name) => name !== "getLatestRoundInfo" && name !== "getLPAmountInfo",
);

/** Reads all at one block: the state first, then what was asked for. */
export default readAction(tasks.report, async (vault, args, surroundings) => {
  const { hre, terminal } = surroundings;
  const { out = "vault-report.html", block: blockTag, ids, from, raw } = args;
  // Checked first: a mistake should not cost all the reads.
  await requireReplaceable(out);
  const state = await readState(vault, { blockTag, from });
  const { envelope, readings, pin } = state;
  const context = { ...vault.display, chainTime: state.time, raw };
  let failures = state.failures.length;
  const parts: Array<Part | Markup> = [
    chapter("Settlement"),
    settlementValues(state),
  ];
  if (args.simulate) {
    const { config } = selectedNetwork(hre);
    // In process, only the newest block can be simulated on.
    const isNewest = blockTag === undefined || blockTag === "latest";
    // The caller of all readings of the page.
    const reader = vault.withOptions({ from });
    const shown = await simulateToShow(reader, {
      from: from ?? (await findSender(vault.rpc, config)),
      blockNumber:
        config.type === "http" || !isNewest ? envelope.block.number : undefined,
    });
    parts.push(
      chapter("If the vault were settled now"),
      ...simulationParts(shown, context),
    );
  }
  parts.push(
    chapter(operations.getLatestRoundInfo.title),
    readingsPart("getLatestRoundInfo", [{ value: readings.round }], context),
  );
  if (args.rounds) {
    terminal.progress("Reading rounds");
    const found = vault.rounds({ toBlock: pin, from });
    const listing = roundListing(envelope, found, context);
    const rounds = await Array.fromAsync(listing.items);
    parts.push(
      chapter("Rounds"),
      ...strikesFigure(rounds, context),
      listing.toTable(rounds, Infinity),
      notes(...listing.doubts()),
    );
  }
  if (ids !== undefined) {
    terminal.progress("Reading orders");
    const sorted = ids.toSorted((one, other) => (one < other ? -1 : 1));
    const found = vault.orders({ ids: sorted, from, blockTag: pin });
    const listing = orderListing(envelope, found, context);
    const listed = await Array.fromAsync(listing.items, (order) =>
      hideInOrder(vault, order),
    );
    const orders = listed.filter(isOrder);
    parts.push(
      chapter("Orders"),
      ...pricesFigures(orders, context),
      notes(...listing.doubts()),
      // Browsers lay out this many rows without a delay.
      ...section(
        orders.length > 1_000 ? "The first 1,000 orders" : "Every order",
        listing.toTable(orders.slice(0, 1_000), Infinity),
      ),
    );
    failures += listing.failures();
  }
  parts.push(
    chapter("Readings"),
    ...snapshotParts(readings, context, ["getLPAmountInfo"]),
    ...snapshotParts(readings, context, otherOperations),
  );
  await requireSameBranch(vault.rpc, pin);
  const { instanceName } = vault;
  const of = instanceName === undefined ? "" : `: ${instanceName}`;
  await writeToFile(renderPage(`Vault report${of}`, envelope, parts), out);
  return {
    json: { ...envelope, file: out },
    ok: failures === 0,
    screen: [
      title("Vault report", envelope),
      notes(
        `Written to ${escapeUntrusted(out)}.`,
        failures > 0 &&
          toned("bad", `${describeCount(failures, "reading")} failed.`),
      ),
    ],
  };
});

const BARS = 24;

/** A histogram of opening prices for each of the four pairs with the most orders. */
export function pricesFigures(
  orders: readonly Order[],
  context: FormatContext,
): readonly Markup[] {
  const decimals = decimalsOf(
    { unit: "raw", key: "order", name: "openPrice" },
    context,
  );
  return [...Map.groupBy(orders, ({ exType }) => exType)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, 4)
    .map(([pair, some]) => {
      const prices = some.map(({ openPrice }) =>
        Number(formatUnits(openPrice, decimals ?? 0)),
      );
      const least = Math.min(...prices);
      const range = Math.max(...prices) - least;
      const bars = Map.groupBy(prices, (price) =>
        range === 0
          ? 0
          : Math.min(BARS - 1, Math.floor(((price - least) / range) * BARS)),
      );
      const counts = Array.from(bars, ([, { length }]) => length);
      const price = decimals === undefined ? "price, raw" : "price";
      return chart(
        `${pair.slice(0, 40)}: ${describeCount(some.length, "order")} by opening price`,
        { label: price, values: prices },
        { label: "orders", values: [0, ...counts] },
        (toX, toY, bottom) => ({
          bar: Array.from(bars, ([bar, { length }]) => {
            const left = toX(least + (bar / BARS) * range);
            return `M${left} ${bottom}V${toY(length)}h17V${bottom}z`;
          }).join(""),
        }),
      );
    });
}

/** Strike and settled prices of rounds over time; none without a round in time. */
export function strikesFigure(
  rounds: readonly PastRound[],
  { raw }: FormatContext,
): readonly Markup[] {
  const toPrice = (value: bigint): number =>
    Number(formatUnits(value, raw ? 0 : units.price.decimals));
  const drawn = rounds
    .filter(({ endTime }) => endTime <= LAST_DATE_SECONDS)
    .map(({ startTime, endTime, strikePrice, settledPrice }) => ({
      start: Number(startTime),
      end: Number(endTime),
      strike: toPrice(strikePrice),
      settled: settledPrice === null ? [] : [toPrice(settledPrice)],
    }));
  if (drawn.length === 0) {
    return [];
  }
  const figure = chart(
    `Strike prices (lines) and settled prices (dots) of ${describeCount(drawn.length, "round")}`,
    {
      label: "UTC",
      values: drawn.flatMap(({ start, end }) => [start, end]),
      describe: (seconds) => describeTime(BigInt(seconds)),
    },
    {
      label: raw ? "price, raw" : "price",
      values: drawn.flatMap(({ strike, settled }) => [strike, ...settled]),
    },
    (toX, toY) => ({
      line: drawn
        .map(
          ({ start, end, strike }) =>
            `M${toX(start)} ${toY(strike)}H${toX(end)}`,
        )
        .join(""),
      dot: drawn
        .flatMap(({ start, end, settled }) =>
          settled.map((at) => `M${toX((start + end) / 2)} ${toY(at)}h0`),
        )
        .join(""),
    }),
  );
  return [figure];
}
