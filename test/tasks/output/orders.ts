import { expect } from "chai";
import { ZeroAddress } from "ethers";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder, Order } from "../../../src/client/index.js";
import { zeroAnswer } from "../../../src/mocks/scenarios.js";
import { describeScales, orderTable } from "../../../tasks/output/orders.js";
import {
  listingEnvelope,
  listingOf,
  renderOrders,
} from "../../helpers/listings.js";
import { fieldsOf, listOf } from "../../helpers/fields.js";
import { SECOND } from "../../helpers/names.js";
import { linesOf } from "../../helpers/screens.js";

const context = { chainTime: 1_700_000_000, raw: false };

/** No two values are the same. */
const order: Order = {
  ...{ orderID: 12_345n, exType: "ETH-USDT", holder: SECOND },
  ...{ number: 2_100n, exFee: 22n, lockFee: 23n, newLockFee: 24n },
  ...{ openPrice: 2_500n, marginAmount: 26n, marginFee: 27n },
  ...{ startTime: 1_699_900_000n, closePrice: 29n },
  ...{ contractType: 2, state: 1 },
};
const empty: Order = { orderID: 4n, ...zeroAnswer("getOrderInfo") };
const error = vaultError("VAULT_INTERNAL", { problem: "none" });
const failed: ListedOrder = { orderID: 5n, error };

describe("orders in each form", () => {
  it("orderTable shows the id and nine values, amounts without their unit, and scales by displayDecimals", () => {
    const displayDecimals = { "order.openPrice": 3 };
    const long = { ...order, exType: "x".repeat(41) };
    const table = orderTable([long], { ...context, displayDecimals });
    const [, row] = linesOf([table]);
    expect(row).to.equal(
      `12345 · ${"x".repeat(40)}… · ${SECOND} · 2,100 · 2.5 · 26 · 1699900000 · 29 · put (2) · open (1)`,
    );
  });

  it("orderTable shortens holders and times on a terminal, and fits 120 columns", () => {
    const odd = { ...order, state: 7 };
    const table = orderTable([order, odd], { ...context, isShort: true });
    const [heading = "", row = "", second = ""] = linesOf([table]);
    expect(second).to.match(/unknown \(7\)$/u);
    expect(row).to.equal(
      `12345 · ETH-USDT · ${SECOND.slice(0, 6)}…${SECOND.slice(-4)} · 2,100 · 2,500 · 26 · 2023-11-13 · 29 · put · open`,
    );
    expect(heading.length).to.be.below(120);
  });

  const decimals = { "order.openPrice": 3, "order.closePrice": 0 };
  for (const [settings, text] of [
    [{}, "Integers are unscaled: their scale is not documented."],
    [{ raw: true, displayDecimals: decimals }, "Integers are unscaled."],
    [
      // The table has no fees and no pools.
      { displayDecimals: { ...decimals, "order.exFee": 2, "pools.locked": 1 } },
      "Scaled: opening price, closing price. Other integers are unscaled: their scale is not documented.",
    ],
  ] as const) {
    it(`describeScales of ${JSON.stringify(settings)} is "${text}"`, () => {
      expect(describeScales({ ...context, ...settings })).to.equal(text);
    });
  }

  it("CSV of orders has every value in its column, unscaled, and the status of each id", async () => {
    const csv = await renderOrders([order, empty, failed], "csv");
    expect(csv.split("\n")).to.deep.equal([
      "orderID,exType,holder,number,exFee,lockFee,newLockFee,openPrice,marginAmount,marginFee,startTime,closePrice,contractType,state,status,error",
      `12345,ETH-USDT,${SECOND},2100,22,23,24,2500,26,27,1699900000,29,2,1,ok,`,
      `4,,${ZeroAddress},0,0,0,0,0,0,0,0,0,0,0,empty,`,
      `5,,,,,,,,,,,,,,failed,VAULT_INTERNAL: ${error.shortMessage}`,
      "",
    ]);
  });

  it("CSV of orders with --scaled has decimals of the fields whose decimals are configured, without grouped digits, and names these", async () => {
    const displayDecimals = { "order.openPrice": 3, "order.exFee": 1 };
    const settings = { scaled: true, displayDecimals };
    const long = { ...order, openPrice: 1_850_250n };
    const csv = await renderOrders([long], "csv", settings);
    expect(csv.split("\n")[1]).to.equal(
      `12345,ETH-USDT,${SECOND},2100,2.2,23,24,1850.25,26,27,1699900000,29,2,1,ok,`,
    );
    expect(listingOf([], settings).notes()).to.deep.equal([
      "Scaled: exFee (1 decimals), openPrice (3 decimals). Other numbers are unscaled.",
    ]);
  });

  it("JSON of orders has the block and every id, and marks only the empty ones", async () => {
    const document = fieldsOf(
      JSON.parse(await renderOrders([order, empty, failed], "json")),
    );
    expect(document).to.deep.include(listingEnvelope);
    const orders = listOf(document["orders"]).map(fieldsOf);
    expect(orders.map((one) => one["orderID"])).to.deep.equal([
      ...["12345", "4", "5"],
    ]);
    expect(orders.map((one) => one["empty"])).to.deep.equal([
      ...[undefined, true, undefined],
    ]);
    expect(orders[2]).to.have.nested.property("error.code", error.code);
  });

  it("a table of more than 500 orders has its title once, and its parts stand apart", async () => {
    const many = Array.from({ length: 501 }, () => order);
    const text = await renderOrders(many, "table");
    expect(text.match(/^Orders /gmu)).to.have.lengthOf(1);
    expect(text.match(/\n\n *Id /gmu)).to.have.lengthOf(1);
  });

  it("a table without an order has only the counts, and the first failure", async () => {
    const text = await renderOrders(
      [empty, failed, { ...failed, orderID: 6n }],
      "table",
      {},
      " Stopped.",
    );
    expect(text.split("\n").slice(1)).to.deep.equal([
      ...["0 orders.", "Empty, with every value zero: 1 id.", "Failed: 2 ids."],
      ...[`The first of these, 5: ${error.shortMessage}`, ""],
    ]);
  });
});
