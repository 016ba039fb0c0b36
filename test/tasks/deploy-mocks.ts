import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { contractRoleNames } from "../../src/protocol/index.js";
import { useAnvil } from "../helpers/anvil.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";

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

// What the mocks do: test/mocks.
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
      expect(message.includes("--yes")).to.equal(typed === "deploy-mocks");
      const methods = live.requests.map(({ method }) => method);
      expect(methods.join(" ")).to.not.include("eth_send");
    });
  }

  it("deploy-mocks --yes deploys to a live network, from the account that networks.<name>.from names", async () => {
    const from = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
    const result = await run("deploy-mocks --yes --json", { from }, live.url);
    expect(parseDocument(result)).to.include({ chainId: 56 });
    const senders = live.requests
      .filter(({ method }) => method === "eth_sendTransaction")
      .map(({ params }) => fieldsOf(params[0])["from"]);
    expect(new Set(senders)).to.deep.equal(new Set([from]));
  });
});
