import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { Transaction } from "ethers";

import { contractRoleNames } from "../../src/protocol/index.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, hreOnLive, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { NOBODY, SECOND } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
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
      ...["volume=5", "'orders.27.exType=a=\nb'", "orders.27.state=closed"],
      ...["orders.2=none", "orders.27.contractType=put", "orders.28.exType="],
      "margins.xMarginAmount=65.5e18",
    ];
    const shown = changes
      .map((change) => change.replace("=", " = "))
      .join(", ")
      .replaceAll("'", "")
      .replace("\n", "\\u{a}");
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
      const { vault } = tasks.mocks;
      const read = async (from?: string): Promise<unknown> =>
        await (operation === "getOrderInfo"
          ? vault.getOrderInfo(0n, { from })
          : vault.getLPAmountInfo("private", { from }));
      const failed = await tasks.documentOf(
        `mock fail ${operation} closed ${options}`,
      );
      expect(failed["mock"]).to.deep.equal({
        ...{ operation, ...target, reason: "closed" },
      });
      const { number } = await vault.block();
      expect(failed).to.have.nested.property("block.number", number);
      await expectVaultError(read(NOBODY), "VAULT_CALL_REVERTED");
      await (operation === "getOrderInfo"
        ? read()
        : vault.getLPAmountInfo("public"));
      const typed = `mock succeed ${operation} ${options}`;
      const { mock } = await tasks.documentOf(typed);
      expect(mock).to.deep.equal({ operation, ...target });
      await read(NOBODY);
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
    mock set round.endTime=soon | VAULT_INVALID_ARGUMENT | round.endTime
    mock next-round endTime=soon | VAULT_INVALID_ARGUMENT | round.endTime
    mock set volume=1 --at vault=${NOBODY} | VAULT_NOT_A_MOCK | cannot be scripted
    mock next-round settled=true | VAULT_INVALID_ARGUMENT | not a field
    mock fail queryVolume no --pool public | VAULT_INVALID_ARGUMENT | too many arguments
    `,
  );
});

/** Lets anvil look like a node where transactions cost money, whatever it calls itself. */
const asLiveNode =
  (client: string, chainId?: string): RpcHandler =>
  ({ request: { method, params } }) => {
    if (method === "web3_clientVersion") {
      return { result: client };
    }
    if (method === "eth_chainId" && chainId !== undefined) {
      return { result: chainId };
    }
    // An override's code would find out which chain it is.
    return /^(?:anvil|evm|hardhat)_/u.test(method) || params.length === 3
      ? { error: { code: -32_601, message: `no method ${method}` } }
      : undefined;
  };

describe("vault deploy-mocks", () => {
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
    live.handler = asLiveNode("Geth/v1.16.4-stable", "0x38");
    live.requests.length = 0;
  });

  const run = async (
    typed: string,
    settings: NetworkSettings = {},
    url = anvil.url,
  ) => await runTyped(await hreOnLive(url, settings, project.path), typed);
  const errorOf = async (typed: string, settings: NetworkSettings = {}) => {
    const result = await run(`${typed} --json`, settings, live.url);
    expect(result).to.include({ exitCode: 1, stderr: "" });
    const error = fieldsOf(fieldsOf(parseDocument(result))["error"]);
    return { ...error, message: String(error["message"]) };
  };

  it("deploy-mocks prints the scenario, and the file of the instance, which has the block and the contracts", async () => {
    const typed = "deploy-mocks --scenario settled-round --instance usdc";
    const vault = { instances: { usdc: {} } };
    const { stdout, stderr } = await run(typed, { vault });
    expect(stderr).to.equal("");
    const [, block, written = ""] =
      /^Mocks deployed \(settled-round\) .*, block (\d+), .*\n[^]*\nWritten to (\S+\.json); tasks on this chain with --instance usdc use them if the configuration names no address\.$/mu.exec(
        stdout,
      ) ?? [];
    const saved: unknown = JSON.parse(
      await readFile(path.join(project.path, written), "utf8"),
    );
    expect(saved)
      .to.include({ scenario: "settled-round", block: Number(block) })
      .and.have.property("contracts")
      .that.has.all.keys(...contractRoleNames);
    const read = await run("round --instance usdc --json", { vault });
    expect(parseDocument(read)).to.have.nested.property("round.settled", true);
  });

  it("tasks show the values of the mocks that deploy-mocks recorded by the mocks' scales, and their own settings come first", async () => {
    await run("deploy-mocks --json");
    const screen = async (typed: string, settings: NetworkSettings = {}) =>
      (await run(typed, settings)).stdout;
    expect(await screen("status")).to.not.match(/\braw\b/u);
    expect(await screen("round")).to.contain("Maximum volume   1,000 tokens");
    expect(await screen("pools")).to.match(/Public deposited +5,000,000$/mu);
    const terms = "--max-volume 1000 --apy 12.5 --end-time +7d";
    expect(await screen(`margins ${terms}`)).to.match(/ 52,500$/mu);
    const vault = { displayDecimals: { pools: 20 } };
    expect(await screen("pools", { vault })).to.match(/deposited +50,000$/mu);
    // Contracts that somebody names may have any scale.
    const json = parseDocument(await run("deploy-mocks --json"));
    const { publicPool } = fieldsOf(fieldsOf(json)["contracts"]);
    const at = `--at publicPool=${String(publicPool)}`;
    expect(await screen(`pools ${at}`)).to.match(/deposited .* raw$/mu);
    const contracts = { publicPool: String(publicPool) };
    expect(await screen("pools", { vault: { contracts } })).to.match(/ raw$/mu);
  });

  it("deploy-mocks in process writes no file, and says that the mocks end", async () => {
    const { stdout, stderr } = await runTyped(
      await createTestHre(),
      "deploy-mocks",
    );
    expect(stderr).to.include("the mocks end with it");
    expect(stdout).to.include("(open-round)").and.not.include("Written");
  });

  for (const typed of ["deploy-mocks", "mock set volume=1"]) {
    it(`${typed} sends nothing to a network that looks live: VAULT_LIVE_NETWORK`, async () => {
      if (typed.startsWith("mock")) {
        await run("deploy-mocks");
        // A chain of the same id, whose addresses are known.
        live.handler = asLiveNode("anvil/v1.7.1");
      }
      const { message, ...error } = await errorOf(typed);
      expect(error).to.include({ code: "VAULT_LIVE_NETWORK" });
      expect(message).to.match(/Elsewhere, only .*deploy-mocks --yes/u);
      const methods = live.requests.map(({ method }) => method);
      expect(methods.join(" ")).to.not.include("eth_send");
    });
  }

  it("deploy-mocks --yes sends nothing to a live network without a limit of the fee: VAULT_FEE_LIMIT_NEEDED", async () => {
    const { message, ...error } = await errorOf("deploy-mocks --yes");
    expect(error).to.include({ code: "VAULT_FEE_LIMIT_NEEDED" });
    expect(message).to.match(
      /Write `maxFeePerGasLimit: \d+n,` into networks\.live\.vault/u,
    );
    const methods = live.requests.map(({ method }) => method);
    expect(methods.join(" ")).to.not.include("eth_send");
  });

  it("deploy-mocks --yes deploys to a live network, from the account that networks.<name>.from names", async () => {
    live.handler = asLiveNode("Geth/v1.16.4-stable");
    const vault = { maxFeePerGasLimit: 10n ** 12n };
    const settings = { from: SECOND.toLowerCase(), vault };
    const result = await run("deploy-mocks --yes --json", settings, live.url);
    expect(parseDocument(result)).to.include({ scenario: "open-round" });
    const senders = live.requests
      .filter(({ method }) => method === "eth_sendRawTransaction")
      .map(({ params }) => Transaction.from(String(params[0])).from);
    expect([senders.length, ...new Set(senders)]).to.deep.equal([7, SECOND]);
  });
});
