import { expect } from "chai";
import { formatEther, id, toQuantity } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { examineNode } from "../../src/plugin/examine.js";
import type { Check } from "../../src/plugin/check.js";
import { useAnvil } from "../helpers/anvil.js";
import type { CommandResult } from "../helpers/cli.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  connectTo,
  createTestHre,
  hreOnLive,
  httpNetwork,
} from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  parseDocument,
  runTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";
import {
  FACTORY,
  VAULT,
  contractsWithHistory,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode, handlerOf } from "../helpers/scripted-node.js";
import { DEV_KEYS } from "../helpers/world.js";
import { squeezed, useTasks } from "../helpers/use-tasks.js";

/** The one check of that name. */
function named(checks: readonly Check[], name: string): Check {
  const [found, ...more] = checks.filter((check) => check.name === name);
  if (found === undefined || more.length > 0) {
    throw new Error(`${name}: ${checks.map((check) => check.name).join(", ")}`);
  }
  return found;
}

const notOk = (checks: readonly Check[]): Array<[string, string]> =>
  checks
    .filter(({ status }) => status !== "ok")
    .map(({ name, status }) => [name, status]);

const isOfDevelopment = (method: string): boolean =>
  ["hardhat_metadata", "anvil_nodeInfo"].includes(method);

describe("vault doctor", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    server = await startRpcServer({ upstream: anvil.url });
    const { vault } = await connectTo(anvil.url);
    const { addresses: contracts } = await vault.deployMocks();
    hre = await createTestHre(
      {
        networks: {
          remote: httpNetwork(server.url, {
            chainId: 31337,
            vault: { contracts, tokenDecimals: 18 },
          }),
          live: httpNetwork(server.url, { vault: { contracts } }),
        },
      },
      { network: "remote" },
    );
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.handler = () => undefined;
  });
  /** Runs `vault doctor --json` as a process that selected the network. */
  const doctor = async (
    network: string,
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<{ exitCode: number | null; checks: readonly Check[] }> => {
    const result = await runVaultTask(
      await createTestHre(hre.userConfig, { network }),
      "doctor",
      { ...args, json: true },
    );
    // what the task printed; the test looks at each
    const document = parseDocument(result) as { checks: readonly Check[] };
    return { exitCode: result.exitCode, ...document };
  };

  it("doctor gives the balance in --json as a decimal string in wei", async () => {
    const { checks } = await doctor("remote");
    const { balance, maxCost } = fieldsOf(named(checks, "balance"));
    expect(balance).to.match(/^[1-9]\d{18,}$/u);
    expect(maxCost).to.match(/^[1-9]\d*$/u);
  });

  it("doctor fails if the newest block of a live chain is older than 300 s, and warns if it is ahead, or of another finding about a node", async () => {
    server.handler = ({ request: { method, params } }) =>
      method === "eth_simulateV1" ||
      isOfDevelopment(method) ||
      (method === "eth_call" && params.length > 2)
        ? { error: { code: -32601, message: "no such method" } }
        : undefined;
    const { vault } = await hre.network.create("live");
    const block = await vault.block();
    for (const [age, status] of [
      [300, "ok"],
      [301, "fail"],
      [-300, "ok"],
      [-301, "warn"],
    ] as const) {
      const checks = await examineNode(
        vault,
        { chainId: 56, block },
        () => (block.timestamp + age) * 1_000,
      );
      expect(named(checks, "head").status, String(age)).to.equal(status);
      expect(named(checks, "engine").detail).to.match(/^fork: /u);
      expect(notOk(checks)).to.deep.equal([
        ["network", "warn"],
        ...(status === "ok" ? [] : [["head", status]]),
        ["engine", "warn"],
      ]);
    }
    const other = await hre.network.create("remote");
    const [network] = await examineNode(other.vault, { chainId: 1, block });
    expect(network).to.include({
      status: "fail",
      detail: "chain id 1, but 31337 is configured",
    });
  });

  it("doctor judges the newest block's age by maxHeadAge", async () => {
    server.handler = ({ request: { method } }) =>
      isOfDevelopment(method)
        ? { error: { code: -32601, message: "no such method" } }
        : undefined;
    for (const [maxHeadAge, age, status] of [
      [60, 60, "ok"],
      [60, 61, "fail"],
      [false, 3_600, "ok"],
    ] as const) {
      const { vault } = await connectTo(server.url, { vault: { maxHeadAge } });
      const block = await vault.block();
      const checks = await examineNode(
        vault,
        { chainId: 56, block },
        () => (block.timestamp + age) * 1_000,
      );
      expect(named(checks, "head").status, String(age)).to.equal(status);
    }
  });

  describe("a signer", () => {
    it("doctor warns if there is no account", async () => {
      server.handler = ({ request: { method } }) =>
        method === "eth_accounts" ? { result: [] } : undefined;
      const { exitCode, checks } = await doctor("live");
      const signer = named(checks, "signer");
      expect(signer.status).to.equal("warn");
      expect(JSON.stringify(signer)).to.match(/account/u);
      expect(exitCode).to.equal(0);
    });

    it("doctor prints the maximum cost that a settlement names, and accepts a balance of exactly that", async () => {
      const { vault } = await hre.network.create("remote");
      let cost = 0n;
      await vault.settleAll({
        confirm: async ({ maxCost }) => {
          cost = maxCost ?? 0n;
          return "only looking";
        },
      });
      for (const [balance, status] of [
        [cost, "ok"],
        [cost - 1n, "fail"],
      ] as const) {
        server.handler = ({ request: { method } }) =>
          method === "eth_getBalance"
            ? { result: toQuantity(balance) }
            : undefined;
        const found = named((await doctor("remote")).checks, "balance");
        expect(found).to.include({ status });
        expect(found.detail).to.include(`may cost ${formatEther(cost)}`);
      }
    });

    it("doctor examines the signer within its --timeout", async () => {
      server.handler = ({ request: { method } }) =>
        method === "eth_call" ? "handled" : undefined;
      let checks: readonly Check[] = [];
      // A slow machine does not reach its node within the first ones.
      for (let timeout = 0.5; checks.length < 2; timeout *= 2) {
        ({ checks } = await doctor("remote", { timeout: String(timeout) }));
      }
      const { status, detail } = named(checks, "signer");
      expect(status).to.equal("fail");
      expect(detail).to.match(/^Network remote did not answer \S+ in time\.$/u);
    });

    it("doctor gives the signer's requests what is left of its --timeout", async () => {
      const other = await createTestHre(hre.userConfig, { network: "remote" });
      const timeouts: number[] = [];
      other.hooks.registerHandlers("network", {
        newConnection: async (context, next) => {
          const connection = await next(context);
          const { timeout } = fieldsOf(connection.networkConfig);
          timeouts.push(Number(timeout));
          return connection;
        },
      });
      await runVaultTask(other, "doctor", { timeout: "60" });
      const [ofReads = 0, ofSigner = 0, ...more] = timeouts;
      expect(more).to.deep.equal([]);
      expect(ofReads).to.be.at.most(60_000);
      expect(ofSigner).to.be.below(ofReads);
    });
  });
});

describe("what vault doctor prints", () => {
  const { env } = process;
  afterEach(() => {
    process.env = env;
  });

  const examine = async (
    node: ScriptedNode,
    typed = "doctor",
  ): Promise<CommandResult> => {
    node.makeDevelopmentNode();
    const server = await startRpcServer({ handler: handlerOf(node) });
    const contracts = { vault: VAULT, vaultFactory: FACTORY };
    const settings = { chainId: 31_337, vault: { contracts } };
    const result = await runTyped(await hreOnLive(server.url, settings), typed);
    await server.stop();
    return result;
  };

  it("doctor colours each check by its status, with the fix below, and counts them", async () => {
    process.env = { ...env, FORCE_COLOR: "1", NO_COLOR: "" };
    const { stdout } = await examine(
      new ScriptedNode(contractsWithHistory([])),
    );
    const lines = squeezed(stdout).split("\n");
    const at = (start: string): number =>
      lines.findIndex((line) => line.startsWith(start));
    expect(at("\u001b[32mok · network\u001b[39m · chain id")).to.be.above(0);
    expect(at("\u001b[33mwarn · settlement\u001b[39m · There")).to.be.above(0);
    const failing = at(
      "\u001b[31mfail · vault\u001b[39m · There is no contract code at",
    );
    expect(lines[failing + 1]).to.include(
      "Check the address, and that network",
    );
    expect(lines).to.include("9 checks passed, 1 warning, 2 failures.");
  });

  it("doctor shows the failure of a contract once, and not as that of the engine, too", async () => {
    const result = await examine(
      new ScriptedNode(contractsWithHistory([])),
      "doctor --json",
    );
    const { checks } = fieldsOf(parseDocument(result));
    const names = listOf(checks).map((check) => fieldsOf(check)["name"]);
    expect(names).to.include("vault factory").and.not.include("engine");
  });

  it("doctor tries a settlement by the account of --from", async () => {
    const node = new ScriptedNode();
    const { stdout } = await examine(node, `doctor --from ${FACTORY}`);
    expect(stdout).to.include(`settleAll as ${FACTORY}`);
  });

  it("doctor prints the check that failed, and none of the signer, if the node refuses everything", async () => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", () => {
      throw Object.assign(new Error("no"), { code: -32_601 });
    });
    const result = await examine(node, "doctor --json");
    expect(result.exitCode).to.equal(1);
    const document = parseDocument(result);
    expect(document).to.have.all.keys("checks");
    const { checks } = fieldsOf(document);
    const names = listOf(checks).map((check) => fieldsOf(check)["name"]);
    expect(names).to.deep.equal(["network"]);
    expect(node.count("eth_accounts")).to.equal(0);
  });
});

describe("what vault doctor finds", () => {
  const NOBODY = "0x00000000000000000000000000000000000000AA";
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      live: httpNetwork(url, { vault: { contracts } }),
      pinned: httpNetwork(url, { chainId: 1, vault: { contracts } }),
      poor: httpNetwork(url, {
        accounts: [id("nothing")],
        vault: { contracts },
      }),
      nobody: httpNetwork(url, { from: NOBODY, vault: { contracts } }),
      half: httpNetwork(url, {
        vault: { contracts: { vaultFactory: contracts.vaultFactory } },
      }),
      gone: httpNetwork("http://127.0.0.1:1"),
      readme: httpNetwork(url, {
        ...{ chainId: 31_337, accounts: [DEV_KEYS[0]] },
        vault: {
          contracts: {
            vault: contracts.vault,
            vaultFactory: contracts.vaultFactory,
          },
          tokenDecimals: 18,
        },
      }),
    }),
  });
  /** The checks that are not ok, by name. */
  const found = async (
    typed: string,
    exitCode: number,
  ): Promise<ReadonlyMap<unknown, Readonly<Record<string, unknown>>>> => {
    const { checks } = await tasks.documentOf(`doctor ${typed}`, exitCode);
    expect(checks).to.be.an("array");
    return new Map(
      (Array.isArray(checks) ? checks : [])
        .map(fieldsOf)
        .filter(({ status }) => status !== "ok")
        .map((check) => [check["name"], check]),
    );
  };
  const statuses = (
    checks: ReadonlyMap<unknown, Readonly<Record<string, unknown>>>,
  ): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      [...checks].map(([name, { status }]) => [String(name), status]),
    );

  it("doctor passes mocks with exit code 0, and counts its checks", async () => {
    const { stdout, exitCode } = await tasks.run("doctor");
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(/^13 checks passed, 0 warnings, 0 failures\.$/mu);
  });

  it("doctor --strict passes the configuration of the README: a chain id, a key, vault and vaultFactory", async () => {
    const { exitCode, stdout } = await tasks.run(
      "doctor --strict --network readme",
    );
    expect(stdout).to.include(", 0 warnings, 0 failures.");
    expect(exitCode).to.equal(0);
  });

  for (const [typed, exitCode, expected] of [
    ["--network pinned", 1, { network: "fail" }],
    ["--network gone", 1, { network: "fail" }],
    ["--network poor", 1, { balance: "fail" }],
    ["--network nobody", 0, { signer: "warn" }],
    ["--network nobody --strict", 1, { signer: "warn" }],
  ] as const) {
    it(`doctor ${typed} finds ${Object.keys(expected).join()} at fault and exits with ${exitCode}`, async () => {
      expect(statuses(await found(typed, exitCode))).to.deep.equal(expected);
    });
  }

  it("doctor names every contract without an address, as warnings", async () => {
    const checks = await found("--network half", 0);
    expect(statuses(checks)).to.deep.include({
      ...{ "underlying asset": "warn", trading: "warn", vault: "warn" },
    });
    expect([...checks.keys()]).to.not.include("vault factory");
    expect((await found("--network half --strict", 1)).size).to.equal(
      checks.size,
    );
  });

  for (const [title, code, expected] of [
    ["has no code", "0x", { vault: "fail", settlement: "warn" }],
    ["stops at once", "0x00", { vault: "fail", settlement: "warn" }],
    [
      "reverts without a reason",
      "0x60006000fd",
      { vault: "fail", settlement: "warn" },
    ],
  ] as const) {
    it(`doctor fails for a vault that ${title}`, async () => {
      const { vault } = tasks.mocks.addresses;
      await tasks.rpc("anvil_setCode", vault, code);
      const checks = await found("", 1);
      expect(statuses(checks)).to.deep.include(expected);
      expect(checks.get("vault")?.["detail"]).to.include(vault);
    });
  }

  it("doctor warns of a reading and of a settlement that revert, with their reasons, and fails with --strict", async () => {
    await tasks.mocks.fail("settleAll", "paused");
    await tasks.mocks.fail("queryVolume", "over quota");
    const checks = await found("", 0);
    expect(checks.get("settlement")).to.include({ status: "warn" });
    expect(checks.get("settlement")?.["detail"]).to.include("paused");
    expect(checks.get("vault")?.["detail"]).to.include("over quota");
    await found("--strict", 1);
  });

  it("doctor asks for no chain id in the configuration if a development node has that of a live chain", async () => {
    await tasks.rpc("anvil_setChainId", 10);
    try {
      expect(statuses(await found("", 0))).to.deep.equal({});
    } finally {
      await tasks.rpc("anvil_setChainId", 31337);
    }
  });
});
