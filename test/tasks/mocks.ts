import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { operations } from "../../src/client/index.js";
import { startAnvil, useAnvil } from "../helpers/anvil.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { asLiveNode, startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  parseDocument,
  runOnTerminal,
  runTyped,
} from "../helpers/run-vault-task.js";

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

  it("deploy-mocks names the transaction that it waits for, and fails after --timeout, on a node that does not mine", async () => {
    const idle = await startAnvil({ args: ["--no-mining"] });
    try {
      const hre = await open(idle.url);
      const shown = await runOnTerminal(hre, "deploy-mocks --timeout 3", 200);
      expect(shown).to.match(
        /Waiting for live: transaction 0x[0-9a-f]{64} is not mined yet… 1 s/u,
      );
      expect(stripVTControlCharacters(shown)).to.match(
        /0x[0-9a-f]{64} is not mined in time; the node may not mine .*VAULT_MOCK_SCRIPT_FAILED/su,
      );
    } finally {
      await idle.stop();
    }
  });

  it("deploy-mocks prints the scenario, each address and its file, which has the block", async () => {
    const typed = "deploy-mocks --scenario settled-round --instance usdc";
    const hre = await open(anvil.url, { vault: { instances: { usdc: {} } } });
    const { stdout, stderr } = await runTyped(hre, typed);
    expect(stderr).to.equal("");
    const [, block, written = ""] =
      /^Mocks deployed \(settled-round\) .*, block (\d+), .*\n[^]*\nWritten to (\S+\.json); tasks on this chain with --instance usdc use them if the configuration names no address\.$/mu.exec(
        stdout,
      ) ?? [];
    const saved: unknown = JSON.parse(
      await readFile(path.join(project.path, written), "utf8"),
    );
    expect(saved).to.include({
      scenario: "settled-round",
      block: Number(block),
    });
    const contracts = fieldsOf(fieldsOf(saved)["contracts"]);
    expect(stdout).to.match(
      new RegExp(`^public pool +${String(contracts["publicPool"])}$`, "mu"),
    );
    const { stdout: own } = await runTyped(
      await open(),
      "deploy-mocks --scenario settled-round",
    );
    expect(own).to.include("; tasks on this chain use them if");
    expect(
      parseDocument(
        await runTyped(
          await open(),
          "deploy-mocks --json --scenario full-round",
        ),
      ),
    ).to.include({ scenario: "full-round" });
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
