import { expect } from "chai";
import { ZeroAddress } from "ethers";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder, Order } from "../../../src/client/index.js";
import { zeroAnswer } from "../../../src/mocks/scenarios.js";
import { renderListing } from "../../../tasks/output/listing.js";
import type { ListingForm } from "../../../tasks/output/listing.js";
import {
  Tally,
  describeScales,
  orderListing,
  orderTable,
} from "../../../tasks/output/orders.js";
import { createStyle } from "../../../tasks/output/style.js";
import { squeezed } from "../../helpers/use-tasks.js";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const envelope = {
  network: "live",
  chainId: 56,
  block: { number: 7, timestamp: 1_700_000_000 },
};
const context = {
  tokenDecimals: 1,
  chainTime: 1_700_000_000,
  raw: false,
  scaled: false,
};

/** No two values are the same. */
const order: Order = {
  ...{ orderID: 12_345n, exType: "ETH-USDT", holder: HOLDER },
  ...{ number: 2_100n, exFee: 22n, lockFee: 23n, newLockFee: 24n },
  ...{ openPrice: 2_500n, marginAmount: 26n, marginFee: 27n },
  ...{ startTime: 1_699_900_000n, closePrice: 29n },
  ...{ contractType: 2, state: 1 },
};
const empty: Order = { orderID: 4n, ...zeroAnswer("getOrderInfo") };
const failed: ListedOrder = {
  orderID: 5n,
  error: vaultError("VAULT_INTERNAL", { problem: "none" }),
};

function listingOf(
  orders: readonly ListedOrder[],
  {
    settings = context,
    note,
  }: { settings?: typeof context; note?: string } = {},
) {
  const stream = (async function* () {
    yield* await Promise.resolve(orders);
  })();
  return orderListing(envelope, stream, new Tally(), settings, note);
}

const render = async (
  orders: readonly ListedOrder[],
  form: ListingForm,
  more: Parameters<typeof listingOf>[1] = {},
): Promise<string> => {
  const pieces = renderListing(listingOf(orders, more), form, createStyle({}));
  return (await Array.fromAsync(pieces)).join("");
};

describe("orders in each form", () => {
  it("orderTable shows the id and nine values, amounts without their unit, and aligns integers to the right", () => {
    const block = orderTable([order], context);
    expect(block.kind === "table" ? block.columns : block).to.deep.equal([
      { heading: "Id", align: "right" },
      { heading: "Pair", align: "left" },
      { heading: "Holder", align: "left" },
      { heading: "Open positions", align: "right" },
      { heading: "Opening price", align: "right" },
      { heading: "Margin", align: "right" },
      { heading: "Opened", align: "right" },
      { heading: "Closing price", align: "right" },
      { heading: "Direction", align: "left" },
      { heading: "State", align: "left" },
    ]);
    expect(
      block.kind === "table"
        ? block.rows.map((row) => row.map(({ text }) => text))
        : block,
    ).to.deep.equal([
      [
        ...["12345", "ETH-USDT", HOLDER, "2,100", "2,500", "26"],
        ...["1699900000", "29", "put (2)", "open (1)"],
      ],
    ]);
  });

  it("orderTable scales a value by displayDecimals, keeps it unscaled beside that, and has no note or footnote", () => {
    const displayDecimals = { "order.openPrice": 3 };
    const block = orderTable([order], { ...context, displayDecimals });
    expect(block.kind === "table" ? block.rows[0]?.slice(4, 7) : block).to.eql([
      { text: "2.5", unscaled: 2_500n },
      { text: "26", unscaled: undefined },
      { text: "1699900000", unscaled: undefined },
    ]);
  });

  it("orderTable cuts a pair after 40 characters, and leaves one that ends like a unit", () => {
    const pairs = ["x".repeat(40), "x".repeat(41), "5 raw"];
    const block = orderTable(
      pairs.map((exType) => ({ ...order, exType })),
      context,
    );
    expect(
      block.kind === "table" ? block.rows.map((row) => row[1]?.text) : block,
    ).to.deep.equal(["x".repeat(40), `${"x".repeat(40)}…`, "5 raw"]);
  });

  it("describeScales names the columns that displayDecimals scales, and none that the table leaves out", () => {
    const displayDecimals = {
      ...{ "order.openPrice": 3, "order.exFee": 2, "order.closePrice": 0 },
      "pools.locked": 1,
    };
    expect(describeScales({ ...context, displayDecimals })).to.equal(
      "Scaled as configured: opening price, closing price. Other integers are unscaled: their scale is not documented.",
    );
  });

  it("CSV has every value in its column, unscaled, and the status of each id", async () => {
    const csv = await render([order, empty, failed], "csv");
    expect(csv.split("\n").slice(1)).to.deep.equal([
      `12345,ETH-USDT,${HOLDER},2100,22,23,24,2500,26,27,1699900000,29,2,1,ok,`,
      `4,,${ZeroAddress},0,0,0,0,0,0,0,0,0,0,0,empty,`,
      `5,,,,,,,,,,,,,,failed,VAULT_INTERNAL: ${
        "error" in failed ? failed.error.shortMessage : ""
      }`,
      "",
    ]);
  });

  it("JSON has the block and every id, and marks only the empty ones", async () => {
    const document: unknown = JSON.parse(
      await render([order, empty, failed], "json"),
    );
    expect(document).to.deep.include(envelope);
    expect(document).to.have.nested.property("orders.length", 3);
    expect(document).to.have.deep.nested.property("orders[0]", {
      ...{ orderID: "12345", exType: "ETH-USDT", holder: HOLDER },
      ...{ number: "2100", exFee: "22", lockFee: "23", newLockFee: "24" },
      ...{ openPrice: "2500", marginAmount: "26", marginFee: "27" },
      ...{ startTime: "1699900000", closePrice: "29" },
      ...{ contractType: 2, state: 1 },
    });
    expect(document).to.have.nested.property("orders[1].empty", true);
    expect(document).to.have.nested.property("orders[2].orderID", "5");
    expect(document)
      .to.have.nested.property("orders[2].error")
      .that.has.keys("code", "message");
    const lines = await render([order, empty], "ndjson");
    expect(
      lines.split("\n").map((line) => line.endsWith(',"empty":true}')),
    ).to.deep.equal([false, true, false]);
  });

  it("a table ends with the scales, where the fees are, and what the search adds", async () => {
    const lines = async (
      ...args: Parameters<typeof render>
    ): Promise<readonly string[]> =>
      squeezed(await render(...args))
        .split("\n")
        .slice(1);
    const note = " Stopped.";
    expect((await lines([order], "table", { note })).slice(2)).to.deep.equal([
      "",
      "1 order.",
      "Integers are unscaled: their scale is not documented. Fees: --json, --format ndjson or csv. Stopped.",
      "",
    ]);
    expect(await lines([empty], "table", { note })).to.deep.equal([
      "0 orders.",
      "Empty, with every value zero: 1 id.",
      "",
    ]);
  });
});
