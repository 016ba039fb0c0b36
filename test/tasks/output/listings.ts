import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import fc from "fast-check";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder } from "../../../src/client/index.js";
import { zeroAnswer } from "../../../src/mocks/scenarios.js";
import { generatedOrder } from "../../../src/mocks/state.js";
import {
  parseListingForm,
  renderListing,
  writeListing,
} from "../../../tasks/output/listing.js";
import type {
  Listing,
  ListingContext,
  ListingForm,
} from "../../../tasks/output/listing.js";
import { Tally, orderListing } from "../../../tasks/output/orders.js";
import { createStyle } from "../../../tasks/output/style.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { anyString } from "../../helpers/hostile-text.js";

async function* stream(
  orders: readonly ListedOrder[],
): AsyncGenerator<ListedOrder, void, undefined> {
  for (const order of orders) {
    yield await Promise.resolve(order);
  }
}

function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain = "", end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/gu,
  )) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "\n") {
      rows.push([]);
    }
  }
  return rows.filter((row) => row.length > 1);
}

const withPair = (exType: string): ListedOrder => ({
  orderID: 1n,
  ...generatedOrder(1n),
  exType,
});

const starts = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", '"', "'", " "];
const anyText = fc.oneof(
  anyString,
  fc
    .tuple(
      fc.constantFrom(...starts, " =", "\u00a0=", "\u3000+", " \"'@"),
      fc.string(),
    )
    .map((parts) => parts.join("")),
  fc
    .tuple(
      fc.string(),
      fc.constantFrom(";", '; "', ";;'"),
      fc.constantFrom("=", "+", "＝"),
    )
    .map((parts) => parts.join("")),
);

const envelope = {
  network: "test",
  chainId: 1,
  block: { number: 1, timestamp: 0, hash: null },
};

const unscaled = {
  tokenDecimals: undefined,
  chainTime: 0,
  raw: false,
  scaled: false,
};

function listingOf(
  orders: readonly ListedOrder[],
  context: ListingContext = unscaled,
): Listing<ListedOrder> {
  return orderListing(envelope, stream(orders), new Tally(), context);
}

async function render(
  orders: readonly ListedOrder[],
  form: ListingForm,
  context = unscaled,
): Promise<string> {
  const listing = listingOf(orders, context);
  const rendered = renderListing(listing, form, createStyle({}));
  return (await Array.fromAsync(rendered)).join("");
}

describe("output of vault orders", () => {
  it("no CSV cell of any string starts like a formula", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (pair, reason) => {
        const csv = await render(
          [
            withPair(pair),
            {
              orderID: 2n,
              error: vaultError("VAULT_RPC_ERROR", {
                network: reason,
                method: "eth_call",
                problem: reason,
              }),
            },
          ],
          "csv",
        );
        const rows = parseCsv(csv);
        expect(rows).to.have.length(3);
        for (const row of rows) {
          expect(row).to.have.length(16);
          for (const cell of row) {
            expect(cell).to.not.match(/^\s*"*\s*[=+\-@\t\r\n＝＋－＠]/u);
          }
        }
        // Some spreadsheets cut at semicolons.
        for (const cell of csv.split(/[;\n]/u)) {
          expect(cell).to.not.match(/^[\s"]*[=+\-@＝＋－＠]/u);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("CSV puts an apostrophe before what a spreadsheet takes for a formula, and nowhere else", async () => {
    for (const [pair, cell] of [
      ["=1", "'=1"],
      ["  =1", "'  =1"],
      [`a =1`, "a =1"],
      ["a; \t=1", "a; \\u{9}=1"],
      ["a;  -1;+2", "a;  '-1;'+2"],
      ["a-1", "a-1"],
      ["a;b", "a;b"],
    ] as const) {
      const csv = await render([withPair(pair)], "csv");
      expect(parseCsv(csv)[1]?.[1], pair).to.equal(cell);
    }
  });

  it("CSV has the whole of a long string", async () => {
    const pair = "x".repeat(10_000);
    const csv = await render([withPair(pair)], "csv");
    expect(parseCsv(csv)[1]?.[1]).to.equal(pair);
  });

  it("CSV has decimals with --scaled, without grouped digits, of the fields whose decimals are configured, and names these", async () => {
    const scaled = {
      ...unscaled,
      scaled: true,
      displayDecimals: { "order.openPrice": 18, "order.exFee": 6 },
    };
    const order = {
      ...withPair("A"),
      openPrice: 1_850_250_000_000_000_000_000n,
      exFee: 5_000_000n,
      marginAmount: 7n,
    };
    const [heads = [], row = []] = parseCsv(
      await render([order], "csv", scaled),
    );
    const cellOf = (name: string): unknown => row[heads.indexOf(name)];
    expect(
      ["openPrice", "exFee", "marginAmount", "orderID"].map(cellOf),
    ).to.deep.equal(["1850.25", "5", "7", "1"]);
    const raw = await render([order], "csv");
    expect(raw).to.include("1850250000000000000000");
    expect(listingOf([], scaled).notes()).to.deep.equal([
      "Scaled: exFee (6 decimals), openPrice (18 decimals). Other numbers are unscaled.",
    ]);
    expect(listingOf([], { ...unscaled, scaled: true }).notes()).to.deep.equal([
      "No column is scaled: set displayDecimals in the configuration of the network.",
    ]);
  });

  it("a long table repeats its headings every 500 orders", async () => {
    const orders = Array.from({ length: 1_001 }, (_, index) => ({
      orderID: BigInt(index),
      ...generatedOrder(BigInt(index)),
    }));
    const text = await render(orders, "table");
    expect(text.match(/^ *Id +Pair/gmu)).to.have.length(3);
    expect(text.match(/^ *\d+ /gmu)).to.have.length(1_001);
  });
});

describe("the form of a listing", () => {
  it("parseListingForm takes --json, else --format, else the form of the file's extension, else a table", () => {
    for (const [json, format, out, form] of [
      [false, undefined, undefined, "table"],
      [false, undefined, "a.txt", "table"],
      [false, undefined, "csv", "table"],
      [false, undefined, "a.CSV", "csv"],
      [false, undefined, "a.csv/b.jsonl", "ndjson"],
      [false, "csv", undefined, "csv"],
      [false, "csv", "a.csv", "csv"],
      [false, "ndjson", "a.txt", "ndjson"],
      [true, undefined, "a.csv", "json"],
      [true, undefined, undefined, "json"],
    ] as const) {
      expect(parseListingForm({ json, format, out, scaled: false })).to.equal(
        form,
      );
    }
  });

  it("parseListingForm refuses a --format that the extension of --out contradicts, with VAULT_INVALID_ARGUMENT", async () => {
    for (const [format, out, file] of [
      ["csv", "a.ndjson", "a file .ndjson does not hold csv"],
      ["ndjson", "a.JSON", "a file .json does not hold ndjson"],
    ] as const) {
      const { message } = await expectVaultError(
        Promise.resolve().then(() =>
          parseListingForm({ json: false, format, out, scaled: false }),
        ),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message)
        .to.include(`--out: ${file}`)
        .and.include("Give the file another extension.");
    }
  });

  it("parseListingForm refuses --scaled for anything but CSV: VAULT_INVALID_ARGUMENT", async () => {
    for (const [json, format] of [
      [true, undefined],
      [false, undefined],
      [false, "ndjson"],
    ] as const) {
      const { message } = await expectVaultError(
        Promise.resolve().then(() =>
          parseListingForm({ json, format, out: undefined, scaled: true }),
        ),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.include("--scaled: only CSV");
    }
  });

  it("writeListing writes to stdout, and to stderr only what lines have no place for", async () => {
    const orders = [
      withPair("A"),
      { orderID: 1n, ...zeroAnswer("getOrderInfo") },
    ];
    const notes = "1 order.\nEmpty, with every value zero: 1 id.\n";
    for (const [form, listed, said] of [
      ["table", orders, ""],
      ["json", orders, ""],
      ["csv", orders, notes],
      ["ndjson", orders, notes],
      ["csv", orders.slice(0, 1), ""],
    ] as const) {
      const written = { out: "", err: "" };
      expect(await writeTo(written, listed, form)).to.equal(true);
      expect(written).to.deep.equal({
        out: await render(listed, form),
        err: said,
      });
    }
  });

  it("writeListing stops, and writes nothing more, once the reader of stdout went away", async () => {
    const written = { out: "", err: "" };
    const orders = Array.from({ length: 300 }, (_, id) => ({
      orderID: BigInt(id),
      ...zeroAnswer("getOrderInfo"),
    }));
    expect(await writeTo(written, orders, "ndjson", false)).to.equal(false);
    expect(written.out.split("\n")).to.have.lengthOf(100 + 1);
    expect(written.err).to.equal("");
  });
});

/** @param isRead False if the reader of stdout went away. */
async function writeTo(
  written: { out: string; err: string },
  orders: readonly ListedOrder[],
  form: ListingForm,
  isRead = true,
): Promise<boolean> {
  const style = createStyle({});
  const sink = (name: "out" | "err") => async (text: string) => {
    written[name] += text;
    return await Promise.resolve(isRead);
  };
  return await writeListing(listingOf(orders), form, undefined, {
    out: { isTTY: false, style, write: sink("out") },
    err: { style, write: sink("err") },
    ask: undefined,
    progress: () => undefined,
  });
}

describe("the file that --out names", () => {
  let folder: string;
  const at = (name: string): string => path.join(folder, name);

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it("writeListing writes a table to a file as to no terminal", async () => {
    const orders = [{ orderID: 1n, ...generatedOrder(1n) }];
    const style = createStyle({ isTTY: true, columns: 40 });
    let said = "";
    const write = async (text: string): Promise<boolean> => {
      said += text;
      return await Promise.resolve(true);
    };
    await writeListing(listingOf(orders), "table", at("o\u202eut.txt"), {
      out: { isTTY: true, style, write },
      err: { style, write },
      ask: undefined,
      progress: () => undefined,
    });
    expect(await readFile(at("o\u202eut.txt"), "utf8")).to.equal(
      await render(orders, "table"),
    );
    expect(said.replaceAll(/\s+/gu, " ")).to.equal(
      `1 order written to ${at("o\\u{202e}ut.txt")}. `,
    );
  });
});
