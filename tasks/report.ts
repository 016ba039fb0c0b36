import { formatUnits } from "ethers";

import type { PastRound } from "../src/client/rounds.js";
import { escapeUntrusted } from "../src/escape.js";
import {
  LAST_DATE_SECONDS,
  describeTime,
  units,
} from "../src/protocol/index.js";
import { requireSameBranch } from "../src/rpc/blocks.js";
import { findSender } from "../src/sending/signer.js";
import { tasks } from "./definitions.js";
import { hideInOrder, readAction, selectedNetwork } from "./open-vault.js";
import { chapter, notes, section, title, toned } from "./output/blocks.js";
import type { Block } from "./output/blocks.js";
import { requireReplaceable, writeToFile } from "./output/listing.js";
import { html, renderPage } from "./output/render-html.js";
import type { Markup } from "./output/render-html.js";
import { simulationBlocks } from "./output/settlement.js";
import { describeCount, snapshotBlocks } from "./output/values.js";
import type { FormatContext } from "./output/values.js";
import { isOrder, orderListing } from "./orders.js";
import { roundListing } from "./rounds.js";
import { simulateToShow } from "./simulate.js";
import { readState, settlementValues } from "./status.js";

/** Reads all at one block: the state first, then what was asked for. */
export default readAction(tasks.report, async (vault, args, surroundings) => {
  const { hre, terminal } = surroundings;
  const { out = "vault-report.html", block: blockTag, ids, from, raw } = args;
  // Checked first: a mistake should not cost all the reads.
  await requireReplaceable(out);
  const state = await readState(vault, { blockTag, from });
  const { envelope, readings, pin } = state;
  const context = { ...vault.settings, chainTime: state.time, raw };
  let failures = state.failures.length;
  const parts: Array<Block | Markup> = [
    chapter("Settlement"),
    settlementValues(state),
    chapter("Readings"),
    ...snapshotBlocks(readings, context),
  ];
  if (args.rounds) {
    terminal.progress("Reading rounds");
    const found = vault.rounds({ toBlock: pin, from });
    const listing = roundListing(envelope, found, context);
    const rounds = await Array.fromAsync(listing.items);
    parts.push(
      chapter("Rounds"),
      ...strikesFigure(rounds, context),
      listing.toTable(rounds),
      notes(...listing.doubts()),
    );
  }
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
      ...simulationBlocks(shown, context),
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
      notes(...listing.doubts()),
      // Browsers lay out this many rows without a delay.
      ...section(
        orders.length > 1_000 ? "The first 1,000 orders" : "Every order",
        listing.toTable(orders.slice(0, 1_000)),
      ),
    );
    failures += listing.failures();
  }
  await requireSameBranch(vault.rpc, pin);
  const { instanceName } = vault;
  const of = instanceName === undefined ? "" : `: ${instanceName}`;
  await writeToFile(renderPage(`Vault report${of}`, envelope, parts), out);
  return {
    json: { ...envelope, file: out },
    ok: failures === 0,
    blocks: [
      title("Vault report", envelope),
      notes(
        `Written to ${escapeUntrusted(out)}.`,
        failures > 0 &&
          toned("bad", `${describeCount(failures, "reading")} failed.`),
      ),
    ],
  };
});

/** The chart and its drawing, without the labels of the axes; in pixels. */
const [WIDTH, HEIGHT] = [480, 210];
const [LEFT, TOP, RIGHT, BOTTOM] = [20, 28, WIDTH - 20, HEIGHT - 34];

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
  const x = axisOf(
    drawn.flatMap(({ start, end }) => [start, end]),
    [LEFT, RIGHT],
  );
  const y = axisOf(
    drawn.flatMap(({ strike, settled }) => [strike, ...settled]),
    [BOTTOM, TOP],
  );
  const lines = drawn.map(
    ({ start, end, strike }) => `M${x.at(start)} ${y.at(strike)}H${x.at(end)}`,
  );
  const dots = drawn.flatMap(({ start, end, settled }) =>
    settled.map((price) => `M${x.at((start + end) / 2)} ${y.at(price)}h0`),
  );
  const [from, to] = [x.least, x.most].map((time) =>
    describeTime(BigInt(time)),
  );
  const unit = raw ? "price, raw" : "price";
  const caption = `Strike prices (lines) and settled prices (dots) of ${describeCount(drawn.length, "round")}`;
  const figure = html`<figure>
    <figcaption>${caption}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${caption}">
      <text x="${LEFT}" y="${TOP - 8}">
        ↑ ${unit}: ${y.most.toLocaleString("en")}
      </text>
      <text x="${LEFT}" y="${BOTTOM + 14}">
        ${y.least.toLocaleString("en")}
      </text>
      <text x="${LEFT}" y="${HEIGHT - 4}">${from}</text>
      <text x="${RIGHT}" y="${HEIGHT - 4}" text-anchor="end">UTC: ${to} →</text>
      <path class="frame" d="M${LEFT} ${TOP}H${RIGHT}V${BOTTOM}H${LEFT}z" />
      <path class="line" d="${lines.join("")}" />
      <path class="dot" d="${dots.join("")}" />
    </svg>
  </figure> `;
  return [figure];
}

/** An axis from the least to the most of the values, over some pixels. */
function axisOf(
  values: readonly number[],
  [start, end]: readonly [number, number],
): {
  readonly least: number;
  readonly most: number;
  readonly at: (value: number) => string;
} {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const range = Math.max(most - least, Number.MIN_VALUE);
  const at = (value: number): string =>
    (start + ((value - least) / range) * (end - start)).toFixed(2);
  return { least, most, at };
}
