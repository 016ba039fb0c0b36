import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { httpNetwork } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { itFails, useTasks } from "../helpers/use-tasks.js";

// What the mocks do then: test/mocks.
describe("vault mock", () => {
  const tasks = useTasks({
    networks: (url, { addresses }) => ({
      live: httpNetwork(url, {
        vault: { contracts: addresses, tokenDecimals: 18 },
      }),
    }),
  });

  it("mock set writes each value of a path, and prints it as it was typed", async () => {
    const changes = [
      ...["round.strikePrice=70_000e18", "pools.private.locked=0x10"],
      ...["volume=5", "'orders.27.exType=a=\nb'", "orders.027.state=closed"],
      ...["orders.2=none", "orders.27.contractType=put", "orders.28.exType="],
      "margins.xMarginAmount=65.5e18",
    ];
    const shown = changes
      .map((change) => change.replace("=", " = "))
      .join(", ")
      .replaceAll("'", "")
      .replace("\n", "\\u{a}")
      .replace("027", "27");
    expect(await tasks.linesOf(`mock set ${changes.join(" ")}`)).to.include(
      shown,
    );
    const { vault } = tasks.mocks;
    const { round, pools, volume } = await vault.snapshot();
    expect(round).to.include({ strikePrice: 70_000n * 10n ** 18n });
    expect(pools.private).to.include({ locked: 16n });
    expect(volume).to.equal(5n);
    expect(await vault.getOrderInfo(27n)).to.include({
      ...{ exType: "a=\nb", state: 2, contractType: 2 },
    });
    expect(await vault.getOrderInfo(28n)).to.include({ exType: "" });
    expect(await vault.getOrderInfo(2n)).to.include({ exType: "", number: 0n });
    const terms = { maxVolume: 1n, APY: 1n, endTime: 1n };
    expect(await vault.calMargins(terms)).to.include({
      xMarginAmount: 65_500_000_000_000_000_000n,
    });
  });

  for (const [operation, options, target, text] of [
    [
      "getOrderInfo",
      `--order-id 0x0 --from ${NOBODY}`,
      { orderID: "0", from: NOBODY, pool: null },
      `of order 0 from ${NOBODY}`,
    ],
    [
      "getLPAmountInfo",
      "--pool private",
      { orderID: null, from: null, pool: "private" },
      "of the private pool",
    ],
  ] as const) {
    it(`mock fail and mock succeed ${operation} with ${options} name the block and these conditions, and succeed ends the failure`, async () => {
      const read = async (): Promise<unknown> =>
        await tasks.mocks.vault.read(
          operation,
          // the arguments of the operation
          [operation === "getOrderInfo" ? 0n : "private"] as never,
          { from: NOBODY },
        );
      const failed = await tasks.documentOf(
        `mock fail ${operation} closed ${options}`,
      );
      expect(failed["mock"]).to.deep.equal({
        ...{ operation, ...target, reason: "closed" },
      });
      const { number } = await tasks.mocks.vault.block();
      expect(failed).to.have.nested.property("block.number", number);
      await expectVaultError(read(), "VAULT_CALL_REVERTED");
      const typed = `mock succeed ${operation} ${options}`;
      const { mock } = await tasks.documentOf(typed);
      expect(mock).to.deep.equal({ operation, ...target });
      await read();
      expect(await tasks.linesOf(typed)).to.include(
        `${operation} ${text} succeeds again.`,
      );
    });
  }

  for (const [reason, shown] of [
    ["'closed\u001b[2J for today'", "reverted: closed\\u{1b}[2J for today ("],
    ["0x", "reverted: no reason given"],
    ["0xABC", "reverted: 0xABC"],
    ["0XABCD", "reverted: unknown error data 0xabcd"],
  ] as const) {
    it(`mock fail with ${JSON.stringify(reason)} makes a read fail: ${shown}`, async () => {
      await tasks.run(`mock fail queryVolume ${reason}`);
      const { stderr, exitCode } = await tasks.run("volume");
      expect(exitCode).to.equal(1);
      expect(stderr).to.include(shown).and.include("(VAULT_CALL_REVERTED)");
    });
  }

  it("mock next-round opens a round of the terms that were typed, and of the last round's otherwise", async () => {
    const typed = "mock next-round startTime=+1d endTime=+2d strikePrice=1";
    const { round } = fieldsOf((await tasks.documentOf(typed))["mock"]);
    expect(round).to.include({
      ...{ strikePrice: "1", APY: "185000000000000000", filledVolume: "0" },
    });
    const { startTime, endTime } = fieldsOf(round);
    expect(Number(startTime)).to.be.above(1_700_000_000);
    expect(Number(endTime) - Number(startTime)).to.equal(86_400);
    expect(await tasks.mocks.vault.getLatestRoundInfo()).to.include({
      ...{ strikePrice: 1n, settled: false },
    });
  });

  itFails(
    tasks,
    `
    mock set round.price=1 | VAULT_INVALID_ARGUMENT | settledAmount, settled
    mock set orders.2=none orders.02.state=1 | VAULT_INVALID_ARGUMENT | would be lost
    mock set orders.2.state=1 orders.2=none | VAULT_INVALID_ARGUMENT | would be lost
    mock set orders.__proto__.state=1 | VAULT_INVALID_INTEGER | order
    mock set round.endTime=soon | VAULT_INVALID_TIME | round.endTime
    mock next-round endTime=soon | VAULT_INVALID_TIME | round.endTime
    mock set volume=1 --at vault=${NOBODY} | VAULT_NOT_A_MOCK | cannot be scripted
    mock next-round settled=true | VAULT_INVALID_ARGUMENT | not a field
    mock fail queryVolume no --pool public | VAULT_INVALID_ARGUMENT | too many arguments
    `,
  );
});
