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

  it("mock fail escapes the reason that it prints", async () => {
    expect(await tasks.linesOf("mock fail queryVolume a\u202eb")).to.include(
      "queryVolume reverts from now on: a\\u{202e}b",
    );
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

  it("volume and simulate say once that a mock of deploy-mocks which reverts may be scripted to fail", async () => {
    const run = async (typed: string): Promise<string> => {
      const { stdout, stderr } = await tasks.run(`${typed} --network own`);
      return `${stdout}${stderr}`;
    };
    await run("deploy-mocks");
    for (const [operation, task] of [
      ["queryVolume", "volume"],
      ["settleAll", "simulate"],
    ] as const) {
      await run(`mock fail ${operation} closed`);
      const advice = `vault mock succeed ${operation}\` ends that.`;
      expect((await run(task)).split(advice)).to.have.lengthOf(2);
    }
  });

  it("mock succeed ends the failure of its own pool only", async () => {
    await tasks.run("mock fail getLPAmountInfo 0x --pool private");
    await tasks.run("mock succeed getLPAmountInfo --pool public");
    const { message } = await tasks.errorOf("pools");
    expect(message).to.include("(private pool contract ");
    await tasks.run("mock succeed getLPAmountInfo --pool private");
    await tasks.documentOf("pools");
  });

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

  it("mock next-round counts +1m from now on a node that was idle", async () => {
    const { vault } = tasks.mocks;
    const { timestamp } = await vault.block();
    await tasks.rpc("evm_increaseTime", 120);
    await tasks.documentOf("mock next-round endTime=+1m");
    const { endTime } = await vault.getLatestRoundInfo();
    expect(Number(endTime)).to.be.at.least(timestamp + 120 + 60);
  });

  itFails(
    tasks,
    `
    mock set unknownOrders=yes | VAULT_INVALID_ENUM | zeros, revert, invalid
    mock set orders.8=gone | VAULT_INVALID_ARGUMENT | an object is needed
    mock set =1 | VAULT_INVALID_ARGUMENT | it is not path=value
    mock set round.price=1 | VAULT_INVALID_ARGUMENT | settledAmount, settled
    mock set volume=1 volume=2 | VAULT_INVALID_ARGUMENT | would be lost
    mock set orders.7.state=closed orders.07.state=open | VAULT_INVALID_ARGUMENT | would be lost
    mock set __proto__.x=1 | VAULT_INVALID_ARGUMENT | there is no such value
    mock set volume | VAULT_INVALID_ARGUMENT | as in round.strikePrice=65000e18
    mock set round.endTime=soon | VAULT_INVALID_TIME | round.endTime
    mock set volume=1 --at vault=${NOBODY} | VAULT_NOT_A_MOCK | cannot be scripted
    mock next-round settled=true | VAULT_INVALID_ARGUMENT | not a field
    mock next-round volume | VAULT_INVALID_ARGUMENT | as in strikePrice=65000e18
    mock fail getOrderInfo no --pool public | VAULT_INVALID_ARGUMENT | no pool
    `,
  );
});
