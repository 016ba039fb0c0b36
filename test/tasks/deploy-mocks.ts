import { readFile } from "node:fs/promises";
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
});
