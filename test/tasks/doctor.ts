import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { fieldsOf, listOf } from "../helpers/fields.js";
import { connectTo, hreOnLive, httpNetwork } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { FACTORY, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode, handlerOf } from "../helpers/scripted-node.js";
import { itFails, squeezed, useTasks } from "../helpers/use-tasks.js";

// What each check finds: test/plugin/doctor.ts.
describe("vault doctor", () => {
  const { env } = process;
  afterEach(() => {
    process.env = env;
  });
  const examine = async (node: ScriptedNode, typed = "doctor") => {
    node.makeDevelopmentNode();
    const server = await startRpcServer({ handler: handlerOf(node) });
    const contracts = { vault: VAULT, vaultFactory: FACTORY };
    const settings = { chainId: 31_337, vault: { contracts } };
    const hre = await hreOnLive(server.url, settings);
    const result = await runTyped(hre, typed);
    await server.stop();
    return result;
  };
  /** A restarted node, without the contracts. */
  const gone = {
    codeOf: () => "0x",
    answerOf: () => ({ reverted: false, data: "0x" }),
  };
  const namesIn = (document: unknown): readonly unknown[] =>
    listOf(fieldsOf(document)["checks"]).map((one) => fieldsOf(one)["name"]);

  it("doctor colours each check by its status, with the fix below, and counts them", async () => {
    process.env = { ...env, FORCE_COLOR: "1", NO_COLOR: "" };
    const { stdout } = await examine(new ScriptedNode(gone));
    const lines = squeezed(stdout).split("\n");
    const at = (start: string): number =>
      lines.findIndex((line) => line.startsWith(start));
    expect(at("\u001b[32mok · network\u001b[39m · chain id")).to.be.above(0);
    expect(at("\u001b[33mwarn · settlement\u001b[39m · There")).to.be.above(0);
    const failing = at(
      "\u001b[31mfail · vault factory\u001b[39m · There is no ",
    );
    expect(lines[failing + 1]).to.include("Check the address, and that");
    expect(lines).to.include("5 checks passed, 1 warning, 2 failures.");
  });

  it("doctor prints one remedy for all contracts after the node was restarted without them", async () => {
    const node = new ScriptedNode(gone);
    const { stdout } = await examine(node);
    expect(stdout.match(/^fail +(?:vault|vault factory) /gmu)).to.have.length(
      2,
    );
    expect(
      squeezed(stdout).match(/Check the address, and that/gu),
    ).to.have.length(1);
  });

  it("doctor tries a settlement by the account of --from", async () => {
    const typed = `doctor --from ${FACTORY}`;
    const { stdout } = await examine(new ScriptedNode(), typed);
    expect(stdout).to.include(`settleAll as ${FACTORY}`);
  });

  it("doctor prints only the check of the network if the node refuses its block, and asks for no account", async () => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", () => {
      throw Object.assign(new Error("no"), { code: -32_601 });
    });
    const result = await examine(node, "doctor --json");
    expect(result.exitCode).to.equal(1);
    const document = parseDocument(result);
    expect(document).to.have.all.keys("checks");
    expect(namesIn(document)).to.deep.equal(["network"]);
    expect(node.count("eth_accounts")).to.equal(0);
  });
});

describe("vault doctor without a node", () => {
  let refusing: RpcServer;
  before(async () => {
    const error = { code: -32_601, message: "no" };
    refusing = await startRpcServer({ handler: () => ({ error }) });
  });
  after(async () => {
    await refusing.stop();
  });
  const tasks = useTasks({
    networks: () => ({
      live: httpNetwork(refusing.url),
      mainnet: httpNetwork(refusing.url, { chainId: 1 }),
    }),
  });
  const OPEN = `settlement-live-1-${VAULT.toLowerCase()}.json`;
  const OTHER = `settlement-live-56-${VAULT.toLowerCase()}.json`;
  const checksOf = async (network: string): Promise<readonly string[]> => {
    const { checks } = await tasks.documentOf(`doctor --network ${network}`, 1);
    return listOf(checks)
      .map(fieldsOf)
      .filter(({ name }) => name !== "network")
      .map(({ name, status, detail, fix }) =>
        [name, status, detail, fix].join(" | "),
      );
  };

  it("doctor names the files of settlements that may be under way, of the configured chain, and the command that finishes them", async () => {
    expect(await checksOf("live")).to.deep.equal([]);
    const folder = path.join(process.cwd(), "vault-deployments");
    await mkdir(folder);
    for (const name of [
      ...[OPEN, OTHER, OPEN.replace(".json", ".finished.json")],
      OPEN.replace("live", "development"),
    ]) {
      await writeFile(path.join(folder, name), "");
    }
    const [found, ...others] = await checksOf("mainnet");
    expect(found).to.equal(
      `journal | warn | a settlement may be under way: vault-deployments/${OPEN} | The files name chain and vault. If they are of this network, once the check \`network\` passes: \`npx hardhat vault settle --resume --network mainnet\`.`,
    );
    expect(others).to.deep.equal([]);
    expect((await checksOf("live")).join()).to.include(
      `: vault-deployments/${OPEN}, vault-deployments/${OTHER} |`,
    );
  });
});

describe("the exit code of vault doctor", () => {
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      closed: httpNetwork(url, { vault: { contracts } }),
      gone: httpNetwork("http://127.0.0.1:1"),
    }),
  });

  for (const [typed, exitCode, name, status] of [
    ["--network gone", 1, "network", "fail"],
    ["--network closed", 0, "settlement", "warn"],
    ["--network closed --strict", 1, "settlement", "warn"],
  ] as const) {
    it(`doctor ${typed} exits with ${exitCode} after a check that is ${status}`, async () => {
      await tasks.mocks.fail("settleAll", "closed");
      const { checks } = await tasks.documentOf(`doctor ${typed}`, exitCode);
      const notOk = listOf(checks)
        .map(fieldsOf)
        .filter((check) => check["status"] !== "ok")
        .map((check) => [check["name"], check["status"]]);
      expect(notOk).to.deep.equal([[name, status]]);
    });
  }

  itFails(
    tasks,
    "doctor --instance daily --network closed | VAULT_INVALID_ARGUMENT | daily",
  );

  it("a vault and a factory that do not belong together: doctor fails and names both, status says no and why, and metrics have the code", async () => {
    const { vault } = await connectTo(tasks.url);
    const other = await vault.deployMocks();
    const contracts = {
      ...tasks.mocks.addresses,
      vault: other.addresses.vault,
    };
    const hre = await hreOnLive(tasks.url, { vault: { contracts } });
    const { stdout, exitCode } = await runTyped(hre, "doctor --json");
    expect(exitCode).to.equal(1);
    const { checks } = fieldsOf(JSON.parse(stdout));
    const [settlement] = listOf(checks)
      .map(fieldsOf)
      .filter(({ name }) => name === "settlement");
    expect(settlement).to.include({ status: "fail" });
    expect(settlement?.["detail"]).to.include("the round is not settled by it");
    expect(settlement?.["fix"])
      .to.include("networks.live.vault.contracts.vault and ")
      .and.include(
        "networks.live.vault.contracts.vaultFactory belong together",
      );
    const from = `--from ${SECOND}`;
    const read = await runTyped(hre, `status ${from} --json`);
    expect(fieldsOf(JSON.parse(read.stdout))["status"]).to.include({
      ...{ canBeSettled: false, code: "VAULT_WOULD_NOT_SETTLE" },
    });
    const metrics = await runTyped(hre, `status ${from} --format prometheus`);
    expect(metrics.stdout)
      .to.match(/^vault_up\{.*\} 1$/mu)
      .and.match(/^vault_can_be_settled\{.*\} 0$/mu)
      .and.match(
        /^vault_settlement_obstacle\{.*,code="VAULT_WOULD_NOT_SETTLE"\} 1$/mu,
      );
  });

  it("doctor prints at --timeout what did not answer, and exits with 1", async () => {
    const server = await startRpcServer({
      upstream: tasks.url,
      handler: ({ request: { method } }) =>
        method === "eth_call" ? "handled" : undefined,
    });
    const vault = { contracts: tasks.mocks.addresses };
    const hre = await hreOnLive(server.url, { vault });
    const { stdout, exitCode } = await runTyped(hre, "doctor --timeout 1");
    await server.stop();
    expect(exitCode).to.equal(1);
    expect(stdout).to.include("did not answer");
  });
});
