import { mkdir, readFile, readdir } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import { inProcessMockAddresses } from "../../src/mocks/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { runHardhat } from "../helpers/cli.js";
import type { CommandResult } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { asLiveNode, startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { runVaultTask } from "../helpers/run-vault-task.js";

function parseStdout(result: CommandResult): Readonly<Record<string, unknown>> {
  const document: unknown = JSON.parse(result.stdout);
  return Object.assign({}, document);
}

describe("tasks - deploy-mocks and capture", () => {
  let anvil: ServerProcess;
  let live: RpcServer;
  let project: FixtureProject;

  before(async () => {
    anvil = await startAnvil();
    live = await startRpcServer({
      upstream: anvil.url,
      handler: asLiveNode({ client: "Geth/v1.16.4-stable", chainId: 56 }),
    });
    project = await useFixtureProject("plain");
  });

  after(async () => {
    await live.stop();
    await anvil.stop();
    await project.remove();
  });

  /** As a user runs it, from the project's folder or one below it. */
  async function runProcess(
    args: readonly string[],
    cwd = project.path,
  ): Promise<CommandResult> {
    return await runHardhat(["vault", ...args, "--network", "test"], {
      cwd,
      env: { TEST_URL: anvil.url },
    });
  }

  /** The same in this process, which is much faster. */
  async function run(
    task: string,
    args: Readonly<Record<string, unknown>> = {},
    network: HttpNetworkUserConfig = httpNetwork(anvil.url),
  ): Promise<CommandResult> {
    const hre = await createTestHre(
      { networks: { test: network } },
      { network: "test", projectRoot: project.path },
    );
    return await runVaultTask(hre, task, args);
  }

  it("should deploy to a node, remember where, and settle there", async () => {
    const deployed = await runProcess([
      "deploy-mocks",
      "--scenario",
      "expired-round",
      "--json",
    ]);
    expect(deployed.exitCode, deployed.stderr).to.equal(0);
    expect(deployed.stderr).to.equal("");
    const document = parseStdout(deployed);
    expect(Object.keys(document)).to.deep.equal([
      "network",
      "chainId",
      "block",
      "contracts",
      "scenario",
    ]);
    expect(document).to.include({
      network: "test",
      chainId: 31337,
      scenario: "expired-round",
    });

    const folder = path.join(project.path, "vault-deployments");
    const [file = ""] = (await readdir(folder)).filter((name) =>
      name.startsWith("31337-"),
    );
    const saved: unknown = JSON.parse(
      await readFile(path.join(folder, file), "utf8"),
    );
    expect(file).to.equal(
      `31337-${String(Reflect.get(Object(saved), "genesisHash")).slice(2, 10)}.json`,
    );
    expect(saved).to.deep.include({
      version: 1,
      chainId: 31337,
      scenario: "expired-round",
      contracts: document["contracts"],
    });

    const settled = await run("settle", { yes: true, json: true });
    expect(settled.exitCode, settled.stdout).to.equal(0);
    const round = await run("round", { json: true });
    expect(parseStdout(round)["round"]).to.include({
      settled: true,
      settledPrice: (66_250n * 10n ** 18n).toString(),
      settledAmount: (420n * 10n ** 18n).toString(),
    });
  });

  it("should say that mocks in process end with it", async () => {
    for (const json of [false, true]) {
      const { stdout, stderr, exitCode } = await runVaultTask(
        await createTestHre(),
        "deploy-mocks",
        { json },
      );
      expect(exitCode).to.equal(0);
      expect(stdout).to.contain(inProcessMockAddresses.vault);
      expect(stderr).to.contain("the mocks end with it");
    }
  });

  const refusals: ReadonlyArray<[string, object, string]> = [
    ["an unknown scenario", { scenario: "open" }, "VAULT_INVALID_ENUM"],
    [
      "addresses",
      { at: `vault=${inProcessMockAddresses.vault}` },
      "VAULT_INVALID_ARGUMENT",
    ],
  ];
  for (const [what, args, code] of refusals) {
    it(`should refuse ${what}`, async () => {
      const result = await run("deploy-mocks", { json: true, ...args });
      expect(result.exitCode).to.equal(1);
      expect(parseStdout(result)["error"]).to.include({ code });
    });
  }

  it("should send nothing to a network that looks live, without --yes", async () => {
    live.requests.length = 0;
    const result = await run("deploy-mocks", {}, httpNetwork(live.url));
    expect(result.exitCode).to.equal(1);
    expect(result.stdout).to.equal("");
    expect(result.stderr).to.contain("is not a known development node");
    expect(result.stderr).to.contain("--yes");
    expect(
      live.requests.filter(({ method }) => method.startsWith("eth_send")),
    ).to.deep.equal([]);
  });

  it("should deploy there with --yes", async () => {
    const result = await run(
      "deploy-mocks",
      { json: true, yes: true },
      httpNetwork(live.url),
    );
    expect(result.exitCode, result.stdout).to.equal(0);
    expect(parseStdout(result)).to.include({ chainId: 56 });
  });

  it("should say what to do where there is no account, or none with funds", async () => {
    const key = `0x${"11".repeat(32)}`;
    for (const [accounts, code, text] of [
      [[], "VAULT_NO_SIGNER", "networks.test.accounts"],
      [[key], "VAULT_RPC_ERROR", "gas required exceeds allowance"],
    ] as const) {
      const result = await run(
        "deploy-mocks",
        { json: true },
        httpNetwork(anvil.url, { accounts: [...accounts] }),
      );
      expect(result.exitCode).to.equal(1);
      const error = Object.assign({}, parseStdout(result)["error"]);
      expect(error).to.include({ code });
      expect(String(Reflect.get(error, "message"))).to.contain(text);
      expect(result.stdout).not.to.contain(key.slice(2));
    }
  });

  for (const refusal of [
    "max fee per gas less than block base fee: maxFeePerGas: 1 baseFee: 7",
    "unauthorized signer: this node seals no blocks",
  ]) {
    it(`deploy-mocks passes on that the node says "${refusal}"`, async () => {
      const refusing = await startRpcServer({
        upstream: anvil.url,
        handler: ({ request: { method } }) =>
          method === "eth_sendTransaction"
            ? { error: { code: -32000, message: refusal } }
            : undefined,
      });
      try {
        const result = await run(
          "deploy-mocks",
          { json: true },
          httpNetwork(refusing.url),
        );
        const error = Object.assign({}, parseStdout(result)["error"]);
        expect(error).to.include({ code: "VAULT_RPC_ERROR" });
        const message = String(Reflect.get(error, "message"));
        expect(message).to.contain(refusal);
      } finally {
        await refusing.stop();
      }
    });
  }

  it("should capture a vault, for a file that appears whole", async () => {
    await run("deploy-mocks");
    const result = await runProcess([
      "capture",
      "--out",
      "fixture.json",
      "--ids",
      "1-2,9",
      "--json",
    ]);
    expect(result.exitCode, result.stdout).to.equal(0);
    const { network, chainId, fixture } = parseStdout(result);
    expect({ network, chainId, fixture }).to.deep.equal({
      network: "test",
      chainId: 31337,
      fixture: { file: "fixture.json", orders: 3, failed: 0 },
    });
    const text = await readFile(
      path.join(project.path, "fixture.json"),
      "utf8",
    );
    const written: unknown = JSON.parse(text);
    expect(Object.keys(Object.assign({}, written))).to.deep.equal([
      "format",
      "version",
      "chainId",
      "block",
      "fundingFeeRate",
      "round",
      "pools",
      "volume",
      "marginBalance",
      "minXMargin",
      "margins",
      "orders",
    ]);
    // One value a line, and nothing of the network but its chain id.
    expect(text).to.contain(
      '\n    "strikePrice": "65000000000000000000000",\n',
    );
    expect(text).not.to.contain(anvil.url.slice("http://".length));

    // Paths are where they are typed; fixtures are found from the root.
    const subfolder = path.join(project.path, "one/two");
    await mkdir(subfolder, { recursive: true });
    const again = await runProcess(
      ["capture", "--out", "../fixture.json"],
      subfolder,
    );
    expect(again.stdout).to.contain(
      "Every reading and 0 order ids written to ../fixture.json.",
    );
    expect(again.stdout).to.contain("No order was captured");
    expect(again.stdout).to.contain('({ fixture: "one/fixture.json" })');
    const none = await run("capture", {
      out: path.join(project.path, "none.json"),
      json: true,
    });
    expect(parseStdout(none)["fixture"])
      .to.include({ orders: 0, failed: 0 })
      .and.to.have.property("note")
      .that.matches(
        /^No order was captured: in a replay each of them reverts/u,
      );
    for (const folder of [".", "one"]) {
      const files = await readdir(path.join(project.path, folder));
      expect(files).to.include("fixture.json");
      expect(files.join()).to.not.include("partial");
    }
  });

  const captureRefusals: ReadonlyArray<
    [string, Readonly<Record<string, string>>, RegExp]
  > = [
    ["no file", {}, /--out is required/u],
    [
      "a folder that is not there",
      { out: "none/fixture.json" },
      /cannot be written/u,
    ],
  ];
  for (const [what, args, text] of captureRefusals) {
    it(`should refuse to capture with ${what}`, async () => {
      const out = path.join(project.path, args["out"] ?? "a.json");
      const result = await run("capture", {
        ...args,
        ...(what === "no file" ? {} : { out }),
      });
      expect(result.exitCode).to.equal(1);
      expect(result.stderr).to.match(text);
      expect(result.stderr).not.to.match(/\n\s+at /u);
      expect(await readdir(project.path)).not.to.include("a.json");
    });
  }
});
