import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder } from "../../../src/client/index.js";
import { someOrder } from "../../../src/mocks/scenarios.js";
import { parseListingForm } from "../../../tasks/output/listing.js";
import { createStyle } from "../../../tasks/output/render-text.js";
import { writeOrders } from "../../helpers/listings.js";
import { KeptOutput } from "../../helpers/screens.js";
import { zeroAnswer } from "../../helpers/zero-answer.js";

const order = (exType: string): ListedOrder => ({
  ...{ ...someOrder, orderID: 1n, exType },
});
const error = vaultError("VAULT_INTERNAL", { problem: "none" });
const failed: ListedOrder = { orderID: 3n, error };
const empty: ListedOrder = { orderID: 2n, ...zeroAnswer("getOrderInfo") };

describe("CSV", () => {
  const lineOf = async (pair: string): Promise<string> =>
    (await writeOrders([order(pair)], "csv")).out.split("\n")[1] ?? "";

  for (const pair of [
    ...[
      "=1",
      "  +1",
      "\u3000-1",
      "\u00a0@SUM(1)",
      '"@a',
      "' =1",
      "＝1",
      "\t=1",
    ],
    ...["a;=1", 'a; "-1', "a;;'+1", "a; \t＋1"],
  ]) {
    it(`CSV has no cell that starts like a formula for ${JSON.stringify(pair)}, also if it is cut at semicolons`, async () => {
      for (const cell of (await lineOf(pair)).split(/[,;]/u)) {
        expect(cell).to.not.match(/^[\s"]*[=+\-@＝＋－＠]/u);
      }
    });
  }

  for (const [pair, cell] of [
    ["a =1\u001b", "a =1\\u{1b}"],
    ["a;  -1;+2", "a;  '-1;'+2"],
    ["x".repeat(10_000), "x".repeat(10_000)],
  ] as const) {
    it(`CSV writes ${pair.slice(0, 20)} as ${cell.slice(0, 20)}`, async () => {
      expect(await lineOf(pair)).to.include(`1,${cell},`);
    });
  }
});

describe("the form of a listing", () => {
  const none = {
    json: false,
    format: undefined,
    out: undefined,
    scaled: false,
  };
  for (const [options, form] of [
    [{}, "table"],
    [{ out: "a.CSV" }, "csv"],
    [{ out: "a.ndjson" }, "ndjson"],
    [{ format: "ndjson", out: "a.txt" }, "ndjson"],
  ] as const) {
    it(`parseListingForm finds ${form} for ${JSON.stringify(options)}`, () => {
      expect(parseListingForm({ ...none, ...options })).to.equal(form);
    });
  }

  it("parseListingForm refuses --scaled for another form than CSV", () => {
    const options = { ...none, scaled: true, format: "ndjson" } as const;
    expect(() => parseListingForm(options)).to.throw("--scaled: only CSV");
  });
});

describe("the output of a listing", () => {
  const notes = "Empty, with every value zero: 1 id.\n";
  for (const [form, orders, err] of [
    ["table", [order("A"), empty], ""],
    ["ndjson", [order("A"), empty], notes],
    ["csv", [order("A")], ""],
    [
      "csv",
      [failed],
      `Failed: 1 id.\nThe first of these, 3: ${error.shortMessage}\n`,
    ],
  ] as const) {
    it(`writeListing writes ${orders.length} orders as ${form} to stdout, and ${err === "" ? "nothing" : "notes"} to stderr`, async () => {
      const written = await writeOrders(orders, form);
      expect(written).to.deep.include({ isRead: true, err });
      expect(written.out).to.not.equal("");
    });
  }

  it("writeListing stops, and writes nothing more, once the reader of stdout has gone", async () => {
    const orders = Array.from({ length: 1_200 }, () => empty);
    const out = new KeptOutput({ isRead: false });
    const { isRead, err } = await writeOrders(orders, "ndjson", { out });
    expect(isRead).to.equal(false);
    expect(out.text.split("\n")).to.have.lengthOf(500 + 1);
    expect(err).to.equal("");
  });

  it("writeListing writes a table to a file without colours and line breaks of a terminal, and names the file, escaped", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
    const file = path.join(folder, "o\u202eut.txt");
    const style = createStyle({ isTTY: true, columns: 40 });
    const out = new KeptOutput({ isTTY: true, style });
    const { err } = await writeOrders([order("A")], "table", { file, out });
    const { out: text } = await writeOrders([order("A")], "table");
    expect(await readFile(file, "utf8")).to.equal(text);
    expect(out.text).to.equal("");
    expect(err).to.equal(
      `1 row written to ${path.join(folder, "o\\u{202e}ut.txt")}.\n`,
    );
    await rm(folder, { recursive: true });
  });
});
