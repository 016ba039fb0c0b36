import { expect } from "chai";

import "../../src/chai/index.js";
import { createTestHre } from "../helpers/hre.js";

const order = { exType: "ETH/USD", state: 1, contractType: 2, number: 5n };

describe("chai - order state", () => {
  it("should pass on the order's state and direction", () => {
    expect({ state: 1, contractType: 1 }).to.be.open.and.to.be.a("object");
    expect({ state: 2, contractType: 1 }).to.be.closed;
    expect({ state: 1, contractType: 1 }).to.be.call;
    expect(order).to.be.put;
    expect(order).to.be.open.and.not.to.be.closed;
    expect(order).to.not.be.call;
  });

  it("should fail on the other state or direction, and say what it is", () => {
    expect(() => expect(order).to.be.closed).to.throw(
      "expected order (ETH/USD) to be closed, but its state is open (1)",
    );
    expect(() => expect(order).to.be.call).to.throw(
      "expected order (ETH/USD) to be call, but its contractType is put (2)",
    );
    expect(() => expect(order).to.not.be.open).to.throw(
      "expected order (ETH/USD) not to be open, but its state is open (1)",
    );
    expect(() => expect({ ...order, orderID: 7n }).to.not.be.put).to.throw(
      "expected order 7 (ETH/USD) not to be put",
    );
  });

  it("should name an order that was read by itself or in a list", async () => {
    const { vault } = await (await createTestHre()).network.create();
    await vault.deployMocks();
    const order1 = await vault.getOrderInfo(1);
    expect(() => expect(order1).to.be.closed).to.throw(
      "expected order 1 (BTC-USDT) to be closed, but its state is open (1)",
    );
    for await (const order2 of vault.orders({ firstId: 2, lastId: 2 })) {
      expect(() => expect(order2).to.be.call).to.throw(
        "expected order 2 (ETH-USDT) to be call",
      );
    }
    // It stands beside the order, which is as it was.
    expect(Object.keys(order1)).to.have.length(13);
  });

  it("should put the message of expect() first", () => {
    expect(() => expect(order, "order one").to.be.closed).to.throw(
      /^order one: expected order/u,
    );
  });

  it("should fail with and without .not on a value nobody documented", () => {
    for (const state of [0, 3, 255]) {
      const strange = { ...order, state, contractType: state };
      for (const check of [
        () => expect(strange).to.be.open,
        () => expect(strange).to.not.be.open,
        () => expect(strange).to.not.be.closed,
        () => expect(strange).to.be.call,
        () => expect(strange).to.not.be.put,
      ]) {
        expect(check).to.throw(`unknown (${state})`);
      }
    }
  });

  it("should fail with and without .not on what is not an order", () => {
    for (const subject of [
      undefined,
      null,
      1,
      "open",
      {},
      { state: "1", contractType: 1 },
      { state: 1n, contractType: 1n },
      { error: new Error("reverted") },
    ]) {
      expect(() => expect(subject).to.be.open).to.throw("needs an order");
      expect(() => expect(subject).to.not.be.open).to.throw("needs an order");
    }
  });

  it("should ask for an await where it gets a promise", () => {
    expect(() => expect(Promise.resolve(order)).to.be.open).to.throw(
      "await the order first",
    );
  });

  it("should escape the pair, which comes from the chain", () => {
    expect(
      () => expect({ ...order, exType: "a\u001b[2J" }).to.be.closed,
    ).to.throw("(a\\u{1b}[2J)");
  });

  it("should leave Chai's own assertions as they are", () => {
    expect([1, 2, 3]).to.be.an("array").that.includes(2);
    expect([1, 2, 3]).to.include.members([1]);
    expect("text").to.have.length(4).and.to.contain("ex");
    expect({ open: true }).to.have.property("open").that.is.a("boolean");
    expect([]).to.be.an("array").that.is.empty;
    expect(1).to.be.closeTo(2, 1);
    expect(Object.seal({})).to.be.sealed;
  });
});
