import { expect } from "chai";

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
      own: httpNetwork(url),
    }),
  });

  it("mock set writes each value of a path, and prints it as it was typed", async () => {
    const changes = [
      ...["round.strikePrice=70_000e18", "pools.private.locked=0x10"],
      ...["volume=5", "orders.7.exType=a=b", "orders.7.state=closed"],
      ...["orders.7.contractType=put", "orders.2=none"],
      "margins.xMarginAmount=65.5e18",
    ];
    expect(await tasks.linesOf(`mock set ${changes.join(" ")}`)).to.include(
      changes.join(", ").replaceAll(/(?<=\w)=(?!b)/gu, " = "),
    );
    const { vault } = tasks.mocks;
    const { round, pools, volume } = await vault.snapshot();
    expect(round).to.include({ strikePrice: 70_000n * 10n ** 18n });
    expect(pools.private).to.include({ locked: 16n });
    expect(volume).to.equal(5n);
    expect(await vault.getOrderInfo(7n)).to.include({
      ...{ exType: "a=b", state: 2, contractType: 2 },
    });
    expect(await vault.getOrderInfo(2n)).to.include({ exType: "", number: 0n });
    const terms = { maxVolume: 1n, APY: 1n, endTime: 1n };
    expect(await vault.calMargins(terms)).to.include({
      xMarginAmount: 65_500_000_000_000_000_000n,
    });
  });

  it("mock fail and mock succeed name their conditions, also in JSON", async () => {
    const target = { operation: "getOrderInfo", orderID: "2", from: NOBODY };
    const typed = `getOrderInfo --order-id 0x2 --from ${NOBODY}`;
    const failed = await tasks.documentOf(
      `mock fail getOrderInfo closed --order-id 0x2 --from ${NOBODY}`,
    );
    expect(failed["mock"]).to.deep.equal({
      ...{ ...target, pool: null, reason: "closed" },
    });
    const succeeded = await tasks.documentOf(`mock succeed ${typed}`);
    expect(succeeded["mock"]).to.deep.equal({ ...target, pool: null });
    expect(await tasks.linesOf(`mock succeed ${typed}`)).to.include(
      `getOrderInfo of order 2 from ${NOBODY} succeeds again.`,
    );
  });

  for (const [reason, shown] of [
    ["'closed\u001b[2J for today'", "reverted: closed\\u{1b}[2J for today ("],
    ["0x", "reverted: no reason given"],
    ["0xABC", "reverted: 0xABC"],
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
    expect(Number(endTime) - Number(startTime)).to.equal(86_400);
    expect(await tasks.mocks.vault.getLatestRoundInfo()).to.include({
      ...{ strikePrice: 1n, settled: false },
    });
  });

  itFails(
    tasks,
    `
    mock set round.price=1 | VAULT_INVALID_ARGUMENT | settledAmount, settled
    mock set volume=1 volume=2 | VAULT_INVALID_ARGUMENT | would be lost
    mock set __proto__.x=1 | VAULT_INVALID_ARGUMENT | there is no such value
    mock set round.endTime=soon | VAULT_INVALID_TIME | round.endTime
    mock set volume=1 --at vault=${NOBODY} | VAULT_NOT_A_MOCK | cannot be scripted
    mock next-round settled=true | VAULT_INVALID_ARGUMENT | not a field
    mock fail getOrderInfo no --pool public | VAULT_INVALID_ARGUMENT | no pool
    `,
  );
});
