import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { operations } from "../../src/client/index.js";
import { useAnvil } from "../helpers/anvil.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { asLiveNode, startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { useTasks } from "../helpers/use-tasks.js";

describe("deploy-mocks, mock and capture", () => {
  const anvil = useAnvil();
  let live: RpcServer;
  let project: FixtureProject;

  before(async () => {
    live = await startRpcServer({ upstream: anvil.url });
    project = await useFixtureProject("plain");
  });
  after(async () => {
    await live.stop();
    await project.remove();
  });
  beforeEach(() => {
    live.handler = asLiveNode({ client: "Geth/v1.16.4-stable", chainId: 56 });
    live.requests.length = 0;
  });

  const open = async (
    url = anvil.url,
    settings: NetworkSettings = {},
  ): Promise<HardhatRuntimeEnvironment> =>
    await hreOnLive(url, settings, project.path);
  /** The error of a task on the live node. */
  const errorOf = async (
    typed: string,
    settings: NetworkSettings = {},
  ): Promise<Readonly<Record<string, unknown>>> => {
    const hre = await open(live.url, settings);
    const result = await runTyped(hre, `${typed} --json`);
    expect(result).to.include({ exitCode: 1, stderr: "" });
    return fieldsOf(fieldsOf(parseDocument(result))["error"]);
  };

  it("deploy-mocks prints on stderr, also with --json, that in-process mocks end with the process", async () => {
    const typed = "deploy-mocks --json";
    const { stderr } = await runTyped(await createTestHre(), typed);
    expect(stderr).to.contain("the mocks end with it");
  });

  for (const typed of ["__proto__.x=1", "round.__proto__.x=1", "__proto__=1"]) {
    it(`mock set refuses ${typed} and sends nothing, with VAULT_INVALID_ARGUMENT`, async () => {
      const { code } = await errorOf(`mock set ${typed}`);
      expect(code).to.equal("VAULT_INVALID_ARGUMENT");
      expect(live.requests).to.deep.equal([]);
    });
  }

  it("deploy-mocks and mock send nothing to a network that looks live, with VAULT_LIVE_NETWORK", async () => {
    await runTyped(await open(), "deploy-mocks");
    // A chain of the same id, whose addresses are known.
    const known = asLiveNode({ client: "anvil/v1.7.1" });
    for (const [typed, handler] of [
      ["deploy-mocks", live.handler],
      ["mock next-round", known],
      ["mock set volume=1", known],
      ["mock fail settleAll no", known],
      ["mock succeed settleAll", known],
    ] as const) {
      live.handler = handler;
      const { code, message } = await errorOf(typed);
      expect(code, typed).to.equal("VAULT_LIVE_NETWORK");
      if (typed === "deploy-mocks") {
        expect(message).to.contain("--yes");
      }
    }
    expect(
      live.requests.filter(({ method }) => method.startsWith("eth_send")),
    ).to.deep.equal([]);
  });

  it("deploy-mocks --yes deploys to a live network, from the account that networks.<name>.from names", async () => {
    const from = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
    const hre = await open(live.url, { from });
    expect(
      parseDocument(await runTyped(hre, "deploy-mocks --yes --json")),
    ).to.include({ chainId: 56 });
    const senders = live.requests
      .filter(({ method }) => method === "eth_sendTransaction")
      .map(({ params }) => fieldsOf(params[0])["from"]);
    expect(new Set(senders)).to.deep.equal(new Set([from]));
  });

  it("deploy-mocks fails with VAULT_NO_SIGNER without an account, and passes on why the node refuses", async () => {
    const key = `0x${"11".repeat(32)}`;
    const fees =
      "max fee per gas less than block base fee: maxFeePerGas: 1 baseFee: 7";
    const consensus = "unauthorized signer: this node seals no blocks";
    for (const [accounts, code, text, refusal] of [
      [[], "VAULT_NO_SIGNER", "networks.live.accounts"],
      [[key], "VAULT_RPC_ERROR", "gas required exceeds allowance"],
      ["remote", "VAULT_RPC_ERROR", fees, fees],
      ["remote", "VAULT_RPC_ERROR", consensus, consensus],
    ] as const) {
      live.handler = ({ request: { method } }) =>
        refusal !== undefined && method === "eth_sendTransaction"
          ? { error: { code: -32000, message: refusal } }
          : undefined;
      const error = await errorOf("deploy-mocks", {
        accounts: accounts === "remote" ? accounts : [...accounts],
      });
      expect(error).to.include({ code });
      expect(error["message"]).to.contain(text).and.not.contain(key.slice(2));
    }
  });

  it("capture names the reading that the node refused", async () => {
    const { selector } = operations.queryVolume;
    live.handler = ({ request: { method, params } }) => {
      const [call] = params;
      const { data } = fieldsOf(call);
      return method === "eth_call" && (params.length > 2 || data === selector)
        ? { error: { code: -32000, message: "no such state" } }
        : undefined;
    };
    await runTyped(await open(), "deploy-mocks");
    const out = path.join(project.path, "refused.json");
    const { code, message } = await errorOf(`capture --out ${out}`);
    expect(code).to.equal("VAULT_RPC_ERROR");
    expect(message).to.contain("refused eth_call (reading volume)");
  });

  it("mock next-round counts +1m from now on a node that was idle", async () => {
    const hre = await open();
    await runTyped(hre, "deploy-mocks");
    const { vault } = await hre.network.getOrCreate();
    const { timestamp } = await vault.block();
    await vault.provider.request({ method: "evm_increaseTime", params: [120] });
    const result = await runTyped(hre, "mock next-round endTime=+1m");
    expect(result.exitCode, result.stderr).to.equal(0);
    const { endTime } = await vault.getLatestRoundInfo();
    expect(Number(endTime)).to.be.at.least(timestamp + 120 + 60);
  });

  it("mock fail and mock succeed take an order and a caller", async () => {
    const hre = await open();
    await runTyped(hre, "deploy-mocks");
    const { vault } = await hre.network.getOrCreate();
    const from = `0x${"0".repeat(38)}AA`;
    const condition = `--order-id 2 --from ${from}`;
    const failed = await runTyped(
      hre,
      `mock fail getOrderInfo closed ${condition} --json`,
    );
    expect(fieldsOf(fieldsOf(parseDocument(failed))["mock"])).to.deep.include({
      operation: "getOrderInfo",
      orderID: "2",
      from,
    });
    const read = async (id: bigint, sender?: string): Promise<unknown> =>
      await vault.getOrderInfo(id, { from: sender }).then(
        ({ exType }): unknown => exType,
        (error: unknown) =>
          fieldsOf(Reflect.get(Object(error), "details"))["reason"],
      );
    expect([await read(2n), await read(1n, from), await read(2n, from)]).to.eql(
      ["ETH-USDT", "BTC-USDT", "closed"],
    );
    const { stdout } = await runTyped(
      hre,
      `mock succeed getOrderInfo ${condition}`,
    );
    expect(stdout).to.contain(`getOrderInfo of order 2 from ${from} succeeds`);
    expect(await read(2n, from)).to.equal("ETH-USDT");
  });

  it("mock fail refuses an order of another operation, with VAULT_INVALID_ARGUMENT", async () => {
    const { code } = await errorOf("mock fail settleAll no --order-id 2");
    expect(code).to.equal("VAULT_INVALID_ARGUMENT");
    expect(live.requests).to.deep.equal([]);
  });

  it("capture --margins FILE records the margins of the file's terms, too", async () => {
    const hre = await open();
    await runTyped(hre, "deploy-mocks");
    const [terms, out] = ["terms.json", "more.json"].map((name) =>
      path.join(project.path, name),
    );
    const given = { maxVolume: "1000e18", APY: "2", endTime: 1_900_000_000 };
    await writeFile(String(terms), JSON.stringify([given]));
    const typed = `capture --out ${String(out)} --margins ${String(terms)}`;
    const result = await runTyped(hre, typed);
    expect(result.stdout).to.contain("The margins of 2 sets of terms");
    const text = await readFile(String(out), "utf8");
    const { margins } = fieldsOf(JSON.parse(text));
    expect(fieldsOf(margins)["1"]).to.deep.equal({
      maxVolume: (1_000n * 10n ** 18n).toString(),
      ...{ APY: "2", endTime: "1900000000" },
      baseMarginAmount: (52_500n * 10n ** 18n).toString(),
      xMarginAmount: (10_500n * 10n ** 18n).toString(),
    });
  });

  for (const [what, content] of [
    ["no JSON", "{"],
    ["no list", "{}"],
    ["terms without an end", '[{ "maxVolume": 1, "APY": 2 }]'],
  ] as const) {
    it(`capture --margins refuses a file with ${what}, with VAULT_INVALID_ARGUMENT`, async () => {
      const file = path.join(project.path, "bad.json");
      await writeFile(file, content);
      const out = path.join(project.path, "none.json");
      const typed = `capture --out ${out} --margins ${file}`;
      expect((await errorOf(typed))["code"]).to.equal("VAULT_INVALID_ARGUMENT");
    });
  }

  it("capture hides a secret of the network that an order repeats", async () => {
    const secret = "s3cret-of-the-node";
    const hre = await open(anvil.url, { httpHeaders: { "x-key": secret } });
    await runTyped(hre, "deploy-mocks");
    const pair = `orders.1.exType=BTC-${secret}`;
    expect((await runTyped(hre, `mock set ${pair}`)).exitCode).to.equal(0);
    const out = path.join(project.path, "hidden.json");
    const typed = `capture --out ${out} --ids 1`;
    expect((await runTyped(hre, typed)).exitCode).to.equal(0);
    const { orders } = fieldsOf(JSON.parse(await readFile(out, "utf8")));
    expect(fieldsOf(fieldsOf(orders)["1"])["exType"]).to.equal("BTC-<hidden>");
  });

  it("capture writes one value a line, relative to the working folder, and names the fixture from the root", async () => {
    const hre = await open();
    await runTyped(hre, "deploy-mocks");
    const folder = path.join(project.path, "one");
    await mkdir(path.join(folder, "two"), { recursive: true });
    const before = process.cwd();
    process.chdir(path.join(folder, "two"));
    const { stdout } = await runTyped(
      hre,
      "capture --out ../fixture.json",
    ).finally(() => {
      process.chdir(before);
    });
    expect(stdout)
      .to.contain("Every reading and 0 order ids written to ../fixture.json.")
      .and.contain('({ fixture: "one/fixture.json" })');
    expect(await readdir(folder)).to.have.members(["fixture.json", "two"]);
    const text = await readFile(path.join(folder, "fixture.json"), "utf8");
    expect(Object.keys(fieldsOf(JSON.parse(text))).join(" ")).to.equal(
      "format version chainId block fundingFeeRate round pools volume marginBalance minXMargin margins orders",
    );
    // The chain id is all that it has of the network.
    expect(text)
      .to.contain('\n    "strikePrice": "65000000000000000000000",\n')
      .and.not.contain(anvil.url.slice("http://".length));
  });
});

/** Words of the error of each change that mock refuses, by its code. */
const refusals = {
  VAULT_INVALID_ENUM: {
    "mock set missingOrdersRevert=yes": "true, false",
    "mock set orders.7.state=ajar": "open (1), closed (2)",
    "mock fail settle no": "settleAll",
  },
  VAULT_INVALID_ARGUMENT: {
    "mock set orders.8=gone": "an object is needed",
    "mock set pools.public=none": "got null",
    "mock set =1": "it is not path=value",
    "mock set volume": "it is not path=value",
    "mock set round.price=1": "settledAmount, settled",
    "mock set orders.7.price=1": "closePrice",
    "mock set volume=1 volume=2": "would be lost",
    "mock set orders.7=none orders.7.state=closed": "would be lost",
    "mock set orders.7.state=closed orders.07.state=open": "would be lost",
    "mock set settlement.settledPrice=1": "settledAmount is missing",
    "mock next-round settled=true": "not a field",
    "mock next-round orders.7=none": "not a field",
    "mock fail getOrderInfo no --pool public": "no pool",
    "capture --out none/fixture.json": "ENOENT",
    "capture --out .": "it is a folder",
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

  it("mock set --json has what was set, unscaled", async () => {
    const { mock } = await tasks.documentOf(
      "mock set volume=6 orders.9.openPrice=1_900e18",
    );
    expect(mock).to.deep.equal({
      set: {
        volume: "6",
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

  it("mock set missingOrdersRevert=true makes orders that are not there revert", async () => {
    await tasks.run("mock set missingOrdersRevert=true");
    expect((await tasks.errorOf("order 11"))["message"]).to.include(
      "getOrderInfo reverted: OrderNotFound(orderID: 11)",
    );
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

  it("capture counts the orders, and the readings that fail, and succeeds", async () => {
    await tasks.run("mock set missingOrdersRevert=true");
    await tasks.run("mock fail queryVolume closed");
    const typed = "capture --out fixture.json --ids 1-2,9";
    expect((await tasks.documentOf(typed))["fixture"]).to.deep.equal({
      ...{ file: "fixture.json", orders: 3, margins: 1, failed: 2 },
    });
    expect((await tasks.run("capture --out fixture.json")).stdout)
      .to.include(
        "No order was captured: in a replay each order reverts with that reason.",
      )
      .and.include("1 reading failed: a replay fails there, too.");
  });
});
