import { expect } from "chai";

import { fieldsOf } from "../helpers/fields.js";
import { useTasks } from "../helpers/use-tasks.js";

/** Words of the error of each change that mock refuses, by its code. */
const refusals = {
  VAULT_INVALID_ENUM: {
    "mock set unknownOrders=yes": "zeros, revert, invalid",
    "mock set orders.7.state=ajar": "open (1), closed (2)",
    "mock fail settle no": "settleAll",
  },
  VAULT_INVALID_ARGUMENT: {
    "mock set orders.8=gone": "an object is needed",
    "mock set pools.public=none": "got null",
    "mock set =1": "it is not path=value",
    "mock set round.price=1": "settledAmount, settled",
    "mock set orders.7.price=1": "closePrice",
    "mock set volume=1 volume=2": "would be lost",
    "mock set orders.7=none orders.7.state=closed": "would be lost",
    "mock set orders.7.state=closed orders.07.state=open": "would be lost",
    "mock set settlement.settledPrice=1": "settledAmount is missing",
    "mock set settlement.reward.token=0x00000000000000000000000000000000000000AA":
      "settlement.reward: amount is missing",
    "mock next-round settled=true": "not a field",
    "mock next-round orders.7=none": "not a field",
    "mock set __proto__.x=1": "there is no such value",
    "mock set round.__proto__.x=1": "there is no such value",
    "mock fail settleAll no --order-id 2": "no orderID",
    "mock set volume": "as in round.strikePrice=65000e18",
    "mock next-round volume": "as in strikePrice=65000e18",
    "mock fail getOrderInfo no --pool public": "no pool",
  },
  VAULT_MISSING_OPTION: {
    "mock set": "<changes>",
  },
  VAULT_INVALID_TIME: {
    "mock set round.endTime=soon": "round.endTime",
  },
  VAULT_INVALID_INTEGER: {
    "mock set orders.x.state=open": "An order's id",
    "mock set volume=1.5": "volume",
  },
  VAULT_INVALID_ADDRESS: {
    "mock set orders.7.holder=0x12": "orders.7.holder",
  },
  VAULT_NOT_A_MOCK: {
    "mock set volume=1 --at vault=0x00000000000000000000000000000000000000AA":
      "cannot be scripted",
  },
} as const;

describe("scripting from the command line", () => {
  const tasks = useTasks();
  const orderOf = async (id: number): Promise<unknown> =>
    (await tasks.documentOf(`order ${id}`))["order"];

  it("mock set writes each value of a path, and prints it as it was typed", async () => {
    const changes = [
      "round.strikePrice=70_000e18",
      "pools.private.locked=0x10",
      "volume=5",
      "orders.7.exType=a=b",
      "orders.7.state=closed",
      "orders.7.contractType=put",
      "orders.2=none",
      "margins.xMarginAmount=65.5e18",
    ];
    const { stdout } = await tasks.run(`mock set ${changes.join(" ")}`);
    expect(stdout).to.include(
      `\n${changes.join(", ").replaceAll(/(?<=\w)=(?!b)/gu, " = ")}\n`,
    );
    const { status } = await tasks.documentOf("status");
    expect(status)
      .to.have.nested.property("round.strikePrice")
      .that.equals((70_000n * 10n ** 18n).toString());
    expect(status).to.have.nested.property("pools.private.locked", "16");
    expect(status).to.have.property("volume", "5");
    expect(await orderOf(7)).to.include({
      ...{ exType: "a=b", state: 2, contractType: 2 },
    });
    expect(await orderOf(2)).to.include({ exType: "", number: "0" });
    const margins = await tasks.documentOf(
      "margins --max-volume 1 --apy 1 --end-time +7d",
    );
    expect(margins).to.have.nested.property(
      "margins.xMarginAmount",
      "65500000000000000000",
    );
  });

  it("mock escapes what it repeats of a value or of a reason", async () => {
    const set = await tasks.run("mock set orders.7.exType=a\u202eb");
    expect(set.stdout).to.include("\norders.7.exType = a\\u{202e}b\n");
    const fail = await tasks.run("mock fail queryVolume a\u202eb");
    expect(fail.stdout).to.include(
      "\nqueryVolume reverts from now on: a\\u{202e}b\n",
    );
  });

  it("mock fail and mock succeed print the call that they change, and have its conditions in JSON", async () => {
    const from = "0x00000000000000000000000000000000000000AA";
    const calls = [
      ["queryVolume", "queryVolume", {}],
      [
        "getLPAmountInfo --pool private",
        "getLPAmountInfo of the private pool",
        { pool: "private" },
      ],
      [
        `getOrderInfo --order-id 0x2 --from ${from}`,
        `getOrderInfo of order 2 from ${from}`,
        { orderID: "2", from },
      ],
    ] as const;
    for (const [typed, text, condition] of calls) {
      const [operation = "", ...options] = typed.split(" ");
      const fail = `fail ${operation} closed ${options.join(" ")}`;
      const target = { pool: null, orderID: null, from: null, ...condition };
      const { stdout: failed } = await tasks.run(`mock ${fail}`);
      expect(failed).to.include(`\n${text} reverts from now on: closed\n`);
      expect((await tasks.documentOf(`mock ${fail}`))["mock"]).to.deep.equal({
        ...{ operation, ...target, reason: "closed" },
      });
      const { stdout: succeeds } = await tasks.run(`mock succeed ${typed}`);
      expect(succeeds).to.include(`\n${text} succeeds again.\n`);
      const { mock } = await tasks.documentOf(`mock succeed ${typed}`);
      expect(mock).to.deep.equal({ operation, ...target });
    }
  });

  it("mock next-round prints its terms, if there are any", async () => {
    expect((await tasks.run("mock next-round")).stdout).to.include(
      "\nA new round is open.\n",
    );
    const typed = "mock next-round strikePrice=7e18 APY=5";
    expect((await tasks.run(typed)).stdout).to.include(
      "\nA new round is open: strikePrice = 7e18, APY = 5.\n",
    );
  });

  it("mock next-round counts +1m from now on a node that was idle", async () => {
    const { vault } = tasks.mocks;
    const { timestamp } = await vault.block();
    await tasks.rpc("evm_increaseTime", 120);
    await tasks.documentOf("mock next-round endTime=+1m");
    const { endTime } = await vault.getLatestRoundInfo();
    expect(Number(endTime)).to.be.at.least(timestamp + 120 + 60);
  });

  it("mock names the block in which the mocks are changed", async () => {
    const { number } = await tasks.mocks.vault.block();
    const { block } = await tasks.documentOf("mock set volume=5");
    expect(block).to.include({ number: number + 1 });
  });

  it("mock set --json has what was set, unscaled", async () => {
    const { mock } = await tasks.documentOf(
      "mock set volume=6 orders.9.openPrice=1_900e18 fundingFeeRate.call=0x10",
    );
    expect(mock).to.deep.equal({
      set: {
        volume: "6",
        fundingFeeRate: { call: "16" },
        orders: { 9: { openPrice: "1900000000000000000000" } },
      },
    });
  });

  it("mock next-round opens a round of the terms that were typed, and of the last round's otherwise", async () => {
    const { mock } = await tasks.documentOf(
      "mock next-round startTime=+1d endTime=+2d strikePrice=1",
    );
    const { round } = fieldsOf(mock);
    expect(round).to.include({
      ...{ strikePrice: "1", APY: "185000000000000000", filledVolume: "0" },
    });
    const { startTime, endTime } = fieldsOf(round);
    expect(Number(endTime) - Number(startTime)).to.equal(86_400);
    expect((await tasks.documentOf("round"))["round"]).to.deep.include({
      ...{ strikePrice: "1", settled: false },
    });
  });

  it("mock fail makes an operation revert with a text, bytes or nothing, of one pool or both, until mock succeed", async () => {
    for (const [reason, shown] of [
      ["'closed\u001b[2J for today'", "reverted: closed\\u{1b}[2J for today ("],
      ["0x", "reverted: no reason given"],
      ["0xDEADBEEF", "unknown error 0xdeadbeef with 0 bytes of arguments"],
      ["0xABC", "reverted: 0xABC"],
      ["'see 0x12'", "reverted: see 0x12"],
    ] as const) {
      await tasks.run(`mock fail queryVolume ${reason}`);
      const { stderr, exitCode } = await tasks.run("volume");
      expect(exitCode).to.equal(1);
      expect(stderr).to.include(shown).and.include("(VAULT_CALL_REVERTED)");
    }
    expect((await tasks.run("mock succeed queryVolume")).stdout).to.include(
      "\nqueryVolume succeeds again.\n",
    );
    await tasks.documentOf("volume");

    await tasks.run("mock fail getLPAmountInfo 0x --pool private");
    expect((await tasks.errorOf("pools"))["message"]).to.include(
      "(private pool contract ",
    );
    await tasks.run("mock succeed getLPAmountInfo --pool public");
    await tasks.errorOf("pools");
    await tasks.run("mock succeed getLPAmountInfo --pool private");
    await tasks.documentOf("pools");
  });

  for (const [code, changes] of Object.entries(refusals)) {
    for (const [typed, says] of Object.entries(changes)) {
      it(`${typed} fails with ${code}`, async () => {
        const error = await tasks.errorOf(typed);
        expect(error).to.include({ code });
        expect(error["message"]).to.include(says);
      });
    }
  }
});
