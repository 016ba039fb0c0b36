import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { runHardhat } from "../helpers/cli.js";
import type { CommandResult } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { asLiveNode, startRpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

const ONE = 10n ** 18n;

describe("tasks - mock", () => {
  let anvil: ServerProcess;
  let project: FixtureProject;
  let hre: HardhatRuntimeEnvironment;
  let vault: HardhatVault;

  before(async () => {
    anvil = await startAnvil();
    project = await useFixtureProject("plain");
    hre = await open(anvil.url);
    await runVaultTask(hre, "deploy-mocks");
    ({ vault } = await hre.network.getOrCreate("test"));
  });

  after(async () => {
    await project.remove();
    await anvil.stop();
  });

  async function open(url: string): Promise<HardhatRuntimeEnvironment> {
    return await createTestHre(
      { networks: { test: httpNetwork(url) } },
      { network: "test", projectRoot: project.path },
    );
  }

  async function run(
    task: string,
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<CommandResult> {
    return await runVaultTask(hre, `mock ${task}`, args);
  }

  it("should set values of every kind, by their paths", async () => {
    const result = await run("set", {
      json: true,
      changes: [
        "round.strikePrice=70_000e18",
        "round.endTime=+2d",
        "fundingFeeRate.put=9",
        "pools.private.locked=0x10",
        "volume=5",
        "orders.7.exType=DOGE-USDT",
        "orders.7.state=closed",
        "orders.7.contractType=put",
        "orders.2=none",
        "margins.xMarginAmount=65.5e18",
      ],
    });
    expect(result.exitCode, result.stdout).to.equal(0);
    const document = parseDocument(result);
    expect(document).to.have.all.keys("network", "chainId", "block", "mock");
    expect(document).to.have.nested.property(
      "mock.set.round.strikePrice",
      (70_000n * ONE).toString(),
    );
    const { round, fundingFeeRate, pools, volume } = await vault.snapshot();
    expect(round).to.include({ strikePrice: 70_000n * ONE, settled: false });
    expect(Reflect.get(round, "endTime")).to.be.a("bigint");
    expect(fundingFeeRate).to.have.property("put", 9n);
    expect(pools).to.have.nested.property("private.locked", 16n);
    expect(volume).to.equal(5n);
    expect(await vault.getOrderInfo(7n)).to.include({
      exType: "DOGE-USDT",
      state: 2,
      contractType: 2,
      number: 2n * ONE,
    });
    expect((await vault.getOrderInfo(2n)).state).to.equal(0);
    expect(
      await vault.calMargins({ maxVolume: 0n, APY: 1n, endTime: 2n ** 40n }),
    ).to.deep.equal({
      baseMarginAmount: 52_500n * ONE,
      xMarginAmount: (655n * ONE) / 10n,
    });
  });

  it("should open a next round", async () => {
    const before = await vault.getLatestRoundInfo();
    const result = await run("next-round", {
      json: true,
      terms: ["strikePrice=66000e18"],
    });
    expect(result.exitCode, result.stdout).to.equal(0);
    const after = await vault.getLatestRoundInfo();
    expect(after).to.include({
      strikePrice: 66_000n * ONE,
      APY: before.APY,
      filledVolume: 0n,
      settled: false,
    });
    expect(parseDocument(result)).to.have.nested.property(
      "mock.round.strikePrice",
      (66_000n * ONE).toString(),
    );
  });

  it("next-round counts +1m from now on a node that was idle", async () => {
    const { timestamp } = await vault.block();
    await vault.provider.request({ method: "evm_increaseTime", params: [120] });
    const result = await run("next-round", { terms: ["endTime=+1m"] });
    expect(result.exitCode, result.stderr).to.equal(0);
    const { endTime } = await vault.getLatestRoundInfo();
    expect(Number(endTime)).to.be.at.least(timestamp + 120 + 60);
  });

  it("should let operations fail, and succeed again", async () => {
    const failing = await run("fail", {
      json: true,
      operation: "queryVolume",
      reason: "closed for today",
    });
    expect(parseDocument(failing)).to.have.deep.property("mock", {
      operation: "queryVolume",
      pool: null,
      reason: "closed for today",
    });
    const error = await expectVaultError(
      vault.queryVolume(),
      "VAULT_CALL_REVERTED",
    );
    expect(error.message).to.contain("closed for today");
    await run("fail", {
      operation: "getLPAmountInfo",
      reason: "0x",
      pool: "public",
    });
    await expectVaultError(
      vault.getLPAmountInfo("public"),
      "VAULT_CALL_REVERTED",
    );
    await vault.getLPAmountInfo("private");

    const again = await run("succeed", { operation: "queryVolume" });
    expect(again.stdout).to.contain("queryVolume succeeds again.");
    await run("succeed", { operation: "getLPAmountInfo" });
    await vault.queryVolume();
    await vault.getLPAmountInfo("public");
  });

  it("should be typed as the documents say", async () => {
    for (const args of [
      ["next-round", "strikePrice=1e18"],
      ["set", "volume=3", "round.APY=4"],
      ["fail", "settleAll", "not the keeper"],
      ["succeed", "settleAll"],
    ]) {
      const { exitCode, stderr, stdout } = await runHardhat(
        ["vault", "mock", ...args, "--network", "test"],
        { cwd: project.path, env: { TEST_URL: anvil.url } },
      );
      expect(exitCode, stderr).to.equal(0);
      expect(stdout).to.contain("Mocks scripted");
    }
    expect(await vault.queryVolume()).to.equal(3n);
  });

  const refused: ReadonlyArray<
    [string, string, Readonly<Record<string, unknown>>, RegExp]
  > = [
    ["nothing to set", "set", { changes: [] }, /<changes> is required/u],
    ["no value", "set", { changes: ["volume"] }, /it is not path=value/u],
    [
      "a path that there is not",
      "set",
      { changes: ["round.price=1"] },
      /round: "price" is not a field; the fields are strikePrice/u,
    ],
    [
      "a field that no order has",
      "set",
      { changes: ["orders.7.price=1"] },
      /orders\.7: "price" is not a field; the fields are exType/u,
    ],
    [
      "a path twice",
      "set",
      { changes: ["volume=1", "volume=2"] },
      /"volume": it cannot be given together with "volume"/u,
    ],
    [
      "an order, and a field of it",
      "set",
      { changes: ["orders.7=none", "orders.7.state=closed"] },
      /"orders\.7\.state": it cannot be given together with "orders\.7"/u,
    ],
    [
      "a path twice, in two spellings",
      "set",
      { changes: ["orders.7.state=closed", "orders.07.state=open"] },
      /"orders\.7\.state": it cannot be given together with "orders\.7\.state"/u,
    ],
    [
      "a field of an order, and the order",
      "set",
      { changes: ["orders.7.state=closed", "orders.7=none"] },
      /"orders\.7": it cannot be given together with "orders\.7\.state"/u,
    ],
    [
      "a fraction",
      "set",
      { changes: ["volume=1.5"] },
      /volume is not a whole number/u,
    ],
    [
      "a word as bool",
      "set",
      { changes: ["round.settled=yes"] },
      /round\.settled is not one of true, false/u,
    ],
    [
      "half a settlement",
      "set",
      { changes: ["settlement.settledPrice=1"] },
      /settlement: settledAmount is missing: give both/u,
    ],
    [
      "a term that is none",
      "next-round",
      { terms: ["settled=true"] },
      /round: "settled" is not a field; the fields are strikePrice, APY/u,
    ],
    [
      "an operation that there is not",
      "fail",
      { operation: "settle", reason: "no" },
      /^Error <operation> is not one of/u,
    ],
    [
      "a pool where there is none",
      "succeed",
      { operation: "settleAll", pool: "public" },
      /settleAll is not an operation of the pools/u,
    ],
  ];
  for (const [what, task, args, text] of refused) {
    it(`should refuse ${what}`, async () => {
      const { exitCode, stderr, stdout } = await run(task, args);
      expect(exitCode).to.equal(1);
      expect(stdout).to.equal("");
      expect(stderr).to.match(text);
    });
  }

  it("should send nothing to a node that is not a development node", async () => {
    const live = await startRpcServer({
      upstream: anvil.url,
      handler: asLiveNode({ client: "anvil/v1.7.1" }),
    });
    try {
      const liveHre = await open(live.url);
      for (const [task, args] of [
        ["next-round", {}],
        ["set", { changes: ["volume=1"] }],
        ["fail", { operation: "settleAll", reason: "no" }],
        ["succeed", { operation: "settleAll" }],
      ] as const) {
        const result = await runVaultTask(liveHre, `mock ${task}`, {
          ...args,
          json: true,
        });
        expect(result.exitCode).to.equal(1);
        expect(parseDocument(result)).to.have.nested.property(
          "error.code",
          "VAULT_LIVE_NETWORK",
        );
      }
      expect(
        live.requests.filter(({ method }) => method.startsWith("eth_send")),
      ).to.deep.equal([]);
    } finally {
      await live.stop();
    }
  });

  it("should say what is no mock", async () => {
    const { exitCode, stderr } = await run("set", {
      at: "vault=0x00000000000000000000000000000000000000aa",
      changes: ["volume=1"],
    });
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/vault .* is not a mock/u);
  });
});
