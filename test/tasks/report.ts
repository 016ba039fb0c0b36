import { readFile } from "node:fs/promises";

import { expect } from "chai";

import type { Order, PastRound } from "../../src/client/index.js";
import { someOrder } from "../../src/mocks/scenarios.js";
import type { Markup } from "../../tasks/output/render-html.js";
import { pricesFigures, strikesFigure } from "../../tasks/report.js";
import { httpNetwork } from "../helpers/hre.js";
import { NOBODY, SECOND } from "../helpers/names.js";
import { useTasks } from "../helpers/use-tasks.js";

const HOSTILE = `</td></script></style></svg><img src=x onerror="alert(1)"><!--'"&\u202e`;

/** Without what only lays out the page. */
const pageOf = async (file = "vault-report.html"): Promise<string> =>
  (await readFile(file, "utf8"))
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1")
    .replaceAll(' class=""', "");
const valueOf = (label: string, value: string): string =>
  `<tr><td><span>${label}</span></td><td><span>${value}`;

// How a page is rendered: output/render-html.ts and report/browser.ts.
describe("vault report", () => {
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      live: httpNetwork(url, {
        vault: {
          ...{ contracts, tokenDecimals: 18 },
          displayDecimals: { "order.openPrice": 18 },
          instances: { usdc: {} },
        },
      }),
    }),
  });
  const report = async (options = "", exitCode = 0): Promise<string> => {
    const result = await tasks.run(`report ${options}`);
    expect(result).to.include({ stderr: "", exitCode });
    return await pageOf();
  };

  for (const [options, ...asked] of [
    ["", "Latest round", "Readings"],
    [
      "--simulate --rounds --ids 1-3",
      ...["If the vault were settled now", "Latest round", "Rounds"],
      ...["Orders", "Readings"],
    ],
  ] as const) {
    it(`report ${options} begins with whether the vault can be settled; then the round, the orders if asked, and other readings, the pools first`, async () => {
      const page = await report(options);
      const headingsOf = (level: string, text = page): readonly string[] =>
        Array.from(
          text.matchAll(new RegExp(`<h${level}>(.*?)</h${level}>`, "gu")),
          ([, heading = ""]) => heading,
        );
      expect(headingsOf("2")).to.deep.equal(["Settlement", ...asked]);
      const [, readings = ""] = page.split("<h2>Readings</h2>");
      expect(headingsOf("3", readings)).to.deep.equal([
        ...["Liquidity pools", "Funding fee rate", "Volume"],
        ...["Margin balance", "Minimum X margin"],
      ]);
      const verdict = valueOf("Can be settled", "yes").replace(
        /<span>(?=yes)/u,
        '<span class="good">',
      );
      expect(page)
        .to.include(verdict)
        .and.include(valueOf("Round ended", "no"))
        .and.match(/<h2>Latest round<\/h2>(?:(?!<h2>).)*Strike price/u);
    });
  }

  it("report shows what failed in its place, escaped, and exits with 1", async () => {
    await tasks.mocks.fail("queryVolume", `1,000${HOSTILE}`);
    const file = "o\u202eut.html";
    const { stdout, exitCode } = await tasks.run(`report --out ${file}`);
    expect(exitCode).to.equal(1);
    expect(stdout)
      .to.include("1 reading failed.")
      .and.include("Written to o\\u{202e}ut.html.");
    expect(await pageOf(file))
      .to.match(/<span class="bad">failed: /u)
      .and.match(/1,000&#60;\/td/u)
      .and.not.include("<img");
  });

  it("report --from names the caller of every reading, order and round, and the account that would settle", async () => {
    for (const operation of [
      ...(["queryVolume", "getOrderInfo", "getLatestRoundInfo"] as const),
    ]) {
      await tasks.mocks.fail(operation, "closed", { from: NOBODY });
    }
    const typed = `report --ids 1-3 --simulate --rounds --from ${NOBODY}`;
    const { stdout, exitCode } = await tasks.run(typed);
    expect(exitCode).to.equal(1);
    // Two readings and three orders.
    expect(stdout).to.include("5 readings failed.");
    expect(await pageOf())
      .to.include(valueOf("Called by", NOBODY))
      .and.include("No round could be read from block");
  });

  it("report --block names the block of readings, orders and rounds, and the one before the simulated block", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ volume: 5n, orders: { 1: { exType: "LATER" } } });
    await tasks.mocks.startNextRound();
    expect(await report(`--ids 1 --rounds --simulate --block ${number}`))
      .to.include(`<title>Vault report: live, block ${number}</title>`)
      .and.include("<span>BTC-USDT<")
      .and.include("of 1 round<")
      .and.include(valueOf("In block", `${number + 1},`))
      .and.match(/<small>in (?:5d|4d 23h)<\/small>/u)
      .and.not.include("LATER");
  });

  it("report titles its page with the instance, and sorts its orders", async () => {
    expect(await report("--ids 2,1 --instance usdc"))
      .to.match(/<td class="right"><span>1<.*<td class="right"><span>2</u)
      .and.include(": 1 order by opening price<")
      // Nothing is cut as on a terminal.
      .and.include(`<span>${SECOND}<`)
      .and.include("<h1>Vault report: usdc</h1>");
  });
});

const ONE = 10n ** 18n;
const context = {
  chainTime: 0,
  raw: false,
  displayDecimals: { "order.openPrice": 18 },
};

/** Orders of one pair with these opening prices. */
const ordersAt = (...prices: readonly number[]): readonly Order[] =>
  prices.map((price, index) => ({
    ...someOrder,
    orderID: BigInt(index),
    openPrice: BigInt(price) * ONE,
  }));

const figureOf = (prices: readonly number[], settings = context): string =>
  plain(pricesFigures(ordersAt(...prices), settings));

/** Without what only lays out the markup. */
const plain = (figures: readonly Markup[]): string =>
  figures
    .map(({ text }) => text)
    .join("")
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1");

/** Class and path of each shape but the frame, in the order of drawing. */
const shapesOf = (text: string): readonly string[] =>
  Array.from(
    text.matchAll(/<path class="(?!frame)(\w+)" d="([^"]+)"/gu),
    ([, name, path]) => `${name} ${path}`,
  );

/** The texts at the ends of the axes. */
const labelsOf = (text: string): readonly string[] =>
  Array.from(
    text.matchAll(/<text [^>]*> ?(.*?) ?<\/text>/gu),
    ([, label = ""]) => label,
  );

describe("the histogram of opening prices", () => {
  it("pricesFigures draws a bar as high as its number of orders, at its prices", () => {
    const text = figureOf([60_000, 61_200, 61_250, 62_400]);
    expect(shapesOf(text)).to.deep.equal([
      "bar M20.00 176V102.00h17V176zM240.00 176V28.00h17V176zM441.67 176V102.00h17V176z",
    ]);
    expect(labelsOf(text)).to.deep.equal([
      ...["↑ orders: 2", "0", "60,000", "price: 62,400 →"],
    ]);
    const caption = "BTC-USDT: 4 orders by opening price";
    expect(text)
      .to.include(`aria-label="${caption}"`)
      .and.include(`<figcaption>${caption}<`);
  });

  const raw = { ...context, raw: true };
  for (const [prices, least, most, label, settings = context] of [
    [[64], "64", "64", "price"],
    [[6], `6${",000".repeat(6)}`, `6${",000".repeat(6)}`, "price, raw", raw],
  ] as const) {
    it(`pricesFigures labels the ends of its axis ${least} and ${label}: ${most}`, () => {
      expect(labelsOf(figureOf(prices, settings)).slice(2)).to.deep.equal([
        least,
        `${label}: ${most} →`,
      ]);
    });
  }

  it("pricesFigures draws the four pairs with the most orders, each by itself, cut after 40 characters and escaped", () => {
    const hostile = `<b>\u202e${"x".repeat(50)}`;
    const pairs = ["A", "B", "B", "C", "C", "C", "D", "D", "D", "D"].concat(
      Array<string>(5).fill(hostile),
    );
    const orders = pairs.map((exType) => ({
      ...someOrder,
      orderID: 1n,
      exType,
    }));
    const charts = plain(pricesFigures(orders, context)).matchAll(
      /<figcaption>(.*?): ([\d,]+) /gu,
    );
    expect(
      Array.from(charts, ([, pair, count]) => `${pair} ${count}`),
    ).to.deep.equal([
      `&#60;b&#62;\\u{202e}${"x".repeat(36)} 5`,
      ...["D 4", "C 3", "B 2"],
    ]);
  });
});

const DAY = 86_400;
/** 15 January 2027, 8:00. */
const START = 1_800_000_000;

const roundAt = (
  day: number,
  strikePrice: bigint,
  settledPrice: bigint | null,
): PastRound => ({
  strikePrice,
  APY: 1n,
  maxVolume: 1n,
  filledVolume: 0n,
  minDeposit: 1n,
  startTime: BigInt(START + day * DAY),
  endTime: BigInt(START + (day + 1) * DAY),
  settled: settledPrice !== null,
  settledPrice,
  settledAmount: settledPrice,
  firstBlock: 1,
  settledBlock: settledPrice === null ? null : 5,
  lastBlock: 9,
});

describe("the chart of strikes and settled prices", () => {
  const settled = roundAt(0, 100n * ONE, 130n * ONE);
  const open = roundAt(1, 120n * ONE, null);

  it("strikesFigure draws each strike over its round's time, a settled price at the middle of its round, and no round without an end", () => {
    const endless = { ...open, endTime: 2n ** 60n };
    const text = plain(strikesFigure([settled, open, endless], context));
    expect(shapesOf(text)).to.deep.equal([
      "line M20.00 176.00H240.00M240.00 77.33H460.00",
      "dot M130.00 28.00h0",
    ]);
    expect(labelsOf(text)).to.deep.equal([
      ...["↑ price: 130", "100", "2027-01-15T08:00:00Z"],
      "UTC: 2027-01-17T08:00:00Z →",
    ]);
    expect(text).to.include(
      "Strike prices (lines) and settled prices (dots) of 2 rounds",
    );
    expect(strikesFigure([endless], context)).to.deep.equal([]);
  });
});
