import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { hreOnLive, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { useTasks } from "../helpers/use-tasks.js";

const NOBODY = "0x00000000000000000000000000000000000000AA";

/** Without what only lays out the page. */
const pageOf = async (file = "vault-report.html"): Promise<string> =>
  (await readFile(file, "utf8"))
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1");

describe("options of vault report", () => {
  const tasks = useTasks({
    networks: (url, { addresses }) => ({
      live: httpNetwork(url, {
        vault: { contracts: addresses, instances: { usdc: {} } },
      }),
      vaultOnly: httpNetwork(url, {
        vault: { contracts: { vault: addresses.vault } },
      }),
    }),
  });

  it("--from names the caller of every reading, order and round, and the account that would settle", async () => {
    for (const operation of ["queryVolume", "getOrderInfo"] as const) {
      await tasks.mocks.fail(operation, "closed", { from: NOBODY });
    }
    const typed = `report --ids 1-3 --simulate --from ${NOBODY}`;
    const { stdout, exitCode } = await tasks.run(typed);
    expect(exitCode).to.equal(1);
    expect(stdout).to.include("4 readings failed, as marked on the page.");
    expect(await pageOf()).to.include(
      `<th scope="row">Settled by</th><td>${NOBODY}</td>`,
    );
    await tasks.mocks.fail("getLatestRoundInfo", "closed", { from: NOBODY });
    await tasks.run(`report --rounds --from ${NOBODY}`);
    expect(await pageOf()).to.include("No round could be read from block");
    await tasks.run("report --rounds");
    expect(await pageOf())
      .to.include('data-label="Settled block">not yet<')
      .and.not.include("No round could be read");
  });

  it("an order that fails makes report exit with 1", async () => {
    await tasks.mocks.set({ unknownOrders: "revert" });
    expect(await tasks.run("report --ids 1-3")).to.include({ exitCode: 0 });
    const { stdout, exitCode } = await tasks.run("report --ids 3-4");
    expect(exitCode).to.equal(1);
    expect(stdout).to.include("1 reading failed, as marked on the page.");
  });

  it("--block names the block of the readings and of the orders, and the one before the simulated block", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ volume: 5n, orders: { 1: { exType: "LATER" } } });
    await tasks.run(`report --ids 1 --simulate --block ${number}`);
    const page = await pageOf();
    expect(page)
      .to.include(`<title>Vault report: live, block ${number}</title>`)
      .and.include('data-label="Pair">BTC-USDT<')
      .and.include(`<th scope="row">In block</th><td>${number + 1},`)
      .and.match(/<small>in (?:5d|4d 23h)<\/small>/u)
      .and.not.include("LATER");
  });

  it("a report without --block simulates on the block of its readings, if another one is mined meanwhile", async () => {
    const { number } = await tasks.mocks.vault.block();
    let isMined = false;
    const server = await startRpcServer({
      upstream: tasks.url,
      handler: async ({ request: { method, params } }) => {
        // The snapshot is read: the account that settles is searched for.
        if (method === "eth_accounts" && !isMined) {
          isMined = true;
          await tasks.rpc("evm_mine");
        }
        return method === "eth_simulateV1" && params[1] === "latest"
          ? { error: { code: -32_000, message: "no block is named" } }
          : undefined;
      },
    });
    const vault = { contracts: tasks.mocks.addresses };
    const hre = await hreOnLive(server.url, { vault }, process.cwd());
    const result = await runTyped(hre, "report --simulate");
    await server.stop();
    expect({ ...result, isMined }).to.include({ exitCode: 0, isMined: true });
    expect(await pageOf()).to.include(
      `<th scope="row">In block</th><td>${number + 1},`,
    );
  });

  it("report titles its page with the instance, and repeats the options that choose contracts", async () => {
    const at = `trading=${tasks.mocks.addresses.trading}`;
    await tasks.run(`report --ids 1 --instance usdc --at ${at}`);
    expect(await pageOf())
      .to.include("<h1>Vault report: usdc</h1>")
      .and.include(
        `npx hardhat vault orders --at ${at} --instance usdc --network live --out orders.csv`,
      );
  });

  it("report names its file in the document and, escaped, on the screen", async () => {
    const { block, file } = await tasks.documentOf("report --out some.html");
    expect(file).to.equal("some.html");
    expect(await pageOf("some.html")).to.include(
      `block ${String(Reflect.get(Object(block), "number"))}</title>`,
    );
    const { stdout } = await tasks.run("report --out re\u202eport.html");
    expect(stdout).to.include("\nWritten to re\\u{202e}port.html.\n");
  });

  it("report lists the contracts that have an address", async () => {
    await tasks.run("report --network vaultOnly");
    const [, contracts = ""] = (await pageOf()).split(
      '<section id="contracts">',
    );
    expect(contracts).to.match(
      new RegExp(
        `^<h2>Contracts</h2><table class="values"><tbody><tr><th scope="row">Vault</th><td>${tasks.mocks.addresses.vault}</td></tr></tbody></table></section>`,
        "u",
      ),
    );
  });

  it("report hides a secret of the network that an order repeats", async () => {
    const secret = "s3cret-of-the-node";
    await tasks.mocks.set({ orders: { 1: { exType: `BTC-${secret}` } } });
    const hre = await hreOnLive(
      tasks.url,
      {
        httpHeaders: { "x-key": secret },
        vault: { contracts: tasks.mocks.addresses },
      },
      process.cwd(),
    );
    expect(await runTyped(hre, "report --ids 1")).to.include({ exitCode: 0 });
    expect(await pageOf())
      .to.include("BTC-&lt;hidden&gt;")
      .and.not.include(secret);
    for (const typed of [
      "order 1",
      "orders --ids 1",
      "orders --ids 1 --json",
    ]) {
      const { stdout } = await runTyped(hre, typed);
      expect(stdout, typed).to.include("BTC-<hidden>").and.not.include(secret);
    }
  });
});
