import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import { formatEther } from "ethers";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { Check } from "../../src/plugin/examination.js";
import { vaultError } from "../../src/errors.js";
import { examineContracts } from "../../src/plugin/examine-contracts.js";
import {
  examineNode,
  examineReachability,
} from "../../src/plugin/examine-node.js";
import { examineSigner } from "../../src/plugin/examine-signer.js";
import { examineVault, reportExamination } from "../../tasks/doctor.js";
import { createStyle } from "../../tasks/output/style.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

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

function checksIn(document: unknown): readonly Check[] {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- what the task printed; the test looks at each
  return Reflect.get(Object(document), "checks") as readonly Check[];
}

/** Of an account that has nothing. */
const KEY = `0x${"11".repeat(32)}`;

describe("tasks - doctor", () => {
  let anvil: ServerProcess;
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;
  let contracts: Readonly<Record<string, string>>;
  const open: NetworkConnection[] = [];

  before(async () => {
    anvil = await startAnvil();
    server = await startRpcServer({ upstream: anvil.url });
    const { vault } = await connectTo(anvil.url);
    contracts = (await vault.deployMocks()).addresses;
    hre = await createTestHre(
      {
        networks: {
          remote: httpNetwork(server.url, {
            chainId: 31337,
            vault: { contracts, tokenDecimals: 18 },
          }),
          half: httpNetwork(server.url, {
            vault: { contracts: { vaultFactory: contracts["vaultFactory"] } },
          }),
          wrong: httpNetwork(server.url, {
            vault: {
              contracts: {
                ...contracts,
                trading: contracts["publicPool"],
                vault: "0x0000000000000000000000000000000000000001",
              },
              tokenDecimals: 60,
            },
          }),
          poor: httpNetwork(server.url, {
            accounts: [KEY],
            vault: { contracts },
          }),
          unset: httpNetwork(server.url, {
            accounts: [configVariable("TEST_DOCTOR_KEY")],
            vault: { contracts },
          }),
          gone: httpNetwork("http://127.0.0.1:1"),
        },
      },
      { network: "remote" },
    );
  });
  after(async () => {
    await server.stop();
    await anvil.stop();
  });
  beforeEach(() => {
    server.handler = () => undefined;
  });
  afterEach(async () => {
    await Promise.all(
      open.splice(0).map(async (connection) => {
        await connection.close();
      }),
    );
  });

  const connect = async (network: string): Promise<NetworkConnection> => {
    const connection = await hre.network.create(network);
    open.push(connection);
    return connection;
  };
  const checksOf = async (network: string): Promise<readonly Check[]> =>
    (await examineVault((await connect(network)).vault)).checks;
  const nodeChecks = async (): Promise<readonly Check[]> => {
    const { vault } = await connect("half");
    const block = await vault.block();
    return await examineNode(vault, { chainId: 56, block });
  };

  it("should find nothing to mend where all is well", async () => {
    const result = await runVaultTask(hre, "doctor", { json: true });
    const document: unknown = parseDocument(result);
    const checks = checksIn(document);
    expect(notOk(checks)).to.deep.equal([]);
    expect(result.exitCode).to.equal(0);
    expect(document).to.include({ network: "remote", chainId: 31337 });
    expect(checks.map(({ name }) => name)).to.include.members([
      "network",
      "chain id",
      "client",
      "head",
      "old state",
      "state overrides",
      "eth_simulateV1",
      "gas of calls",
      "trading: code",
      "trading: functions",
      "trading: order 1",
      "vault: margins",
      "snapshot",
      "token precision",
      "round",
      "signer",
      "balance",
    ]);
    expect(checks.every(({ fix }) => fix === null)).to.equal(true);
    expect(named(checks, "token precision").detail).to.equal(
      "18 decimals: the round takes 1,000 tokens",
    );
  });

  it("should take half a configuration for what it is", async () => {
    const checks = await checksOf("half");
    expect(notOk(checks)).to.deep.equal([
      ["underlying asset", "warn"],
      ["public pool", "warn"],
      ["private pool", "warn"],
      ["trading", "warn"],
      ["vault", "warn"],
      ["token precision", "warn"],
    ]);
    expect(named(checks, "trading").fix).to.include(
      "networks.half.vault.contracts.trading",
    );
    expect(named(checks, "snapshot").detail).to.include("2 readings");
  });

  it("should say which contract is another one, or none", async () => {
    const checks = await checksOf("wrong");
    expect(named(checks, "trading: functions")).to.include({
      status: "fail",
      detail: "the code has no getOrderInfo(): is it the trading contract?",
    });
    expect(named(checks, "vault: code")).to.include({ status: "fail" });
    expect(named(checks, "vault: code").detail).to.include("there is none at");
    expect(named(checks, "token precision")).to.include({ status: "warn" });
    expect(reportExamination({ checks }).ok).to.equal(false);
  });

  it("should fail alone, without an envelope, where nobody answers", async () => {
    const gone = await createTestHre(
      { networks: { gone: httpNetwork("http://127.0.0.1:1") } },
      { network: "gone" },
    );
    const result = await runVaultTask(gone, "doctor", { json: true });
    expect(result.exitCode).to.equal(1);
    expect(parseDocument(result)).to.deep.equal({
      checks: [
        {
          name: "network",
          status: "fail",
          detail: "Network gone cannot be reached: ECONNREFUSED.",
          fix: "Check that the node runs and that the configured URL is right.",
        },
      ],
    });
  });

  it("should print a line a check, and what to do below", async () => {
    const { vault } = await connect("wrong");
    const text = reportExamination(await examineVault(vault)).text(
      createStyle({ isTTY: true, columns: 80 }),
    );
    expect(
      Math.max(
        ...stripVTControlCharacters(text)
          .split("\n")
          .map((line) => line.length),
      ),
    ).to.be.at.most(80);
    expect(text).to.match(/^.*fail.*trading: functions/mu);
    expect(text).to.match(/failures\.$/u);
  });

  describe("a node", () => {
    it("should be warned of: slow, of another chain, old, without old state, overrides or eth_simulateV1", async () => {
      let clock = 0;
      const { vault } = await connect("half");
      expect(
        await examineReachability(vault, () => (clock += 600)),
      ).to.have.nested.property("check.status", "warn");
      server.handler = ({ request: { method, params } }) => {
        switch (method) {
          case "eth_simulateV1":
          case "web3_clientVersion":
            return { error: { code: -32601, message: "no such method" } };
          case "eth_call":
            return params.length > 2
              ? { error: { code: -32602, message: "too many arguments" } }
              : undefined;
          case "eth_getBalance":
            return { error: { code: -32000, message: "missing trie node" } };
          default:
            return undefined;
        }
      };
      const block = await vault.block();
      const checks = await examineNode(
        vault,
        { chainId: 56, block },
        () => (block.timestamp + 3_600) * 1_000,
      );
      expect(notOk(checks)).to.deep.equal([
        ["chain id", "warn"],
        ["client", "warn"],
        ["head", "warn"],
        ["old state", "warn"],
        ["state overrides", "warn"],
        ["eth_simulateV1", "warn"],
        ["gas of calls", "warn"],
      ]);
      expect(checks.every(({ fix }) => (fix ?? "").length > 0)).to.equal(true);
    });

    it("should be warned of while it synchronises", async () => {
      server.handler = ({ request: { method } }) =>
        method === "eth_syncing"
          ? { result: { currentBlock: "0x1" } }
          : undefined;
      expect(named(await nodeChecks(), "head").detail).to.include(
        "still synchronising",
      );
    });

    it("should not be believed to simulate where it answers for another block", async () => {
      server.handler = ({ request: { method } }) =>
        method === "eth_simulateV1"
          ? { result: [{ number: "0x1", timestamp: "0x1", calls: [] }] }
          : undefined;
      expect(named(await nodeChecks(), "eth_simulateV1").detail).to.include(
        "for another block",
      );
    });

    it("should not write its own words on the terminal as they are", async () => {
      server.handler = ({ request: { method } }) =>
        method === "web3_clientVersion"
          ? { result: `node\u001b[2J${"x".repeat(500)}` }
          : undefined;
      const { detail } = named(await nodeChecks(), "client");
      expect(detail).to.include("\\u{1b}[2J");
      expect(detail.length).to.be.below(120);
    });

    it("should fail where the configured chain id is another one", async () => {
      const { vault } = await connect("remote");
      const checks = await examineNode(vault, {
        chainId: 1,
        block: await vault.block(),
      });
      expect(named(checks, "chain id")).to.include({
        status: "fail",
        detail: "1, but 31337 is configured",
      });
    });
  });

  it("should name readings that differ when they are read at once", async () => {
    const { vault } = await connect("remote");
    const real = await vault.queryVolume();
    server.handler = ({ request: { method, params } }) => {
      const data: unknown = Reflect.get(Object(params[0]), "data");
      return method === "eth_call" && data === "0xa69590a8"
        ? { result: `0x${(real + 1n).toString(16).padStart(64, "0")}` }
        : undefined;
    };
    const checks = await examineContracts(vault, await vault.block());
    expect(named(checks, "snapshot")).to.include({
      status: "warn",
      detail: "read otherwise at once than by single calls: volume",
    });
  });

  it("should show a defect of ours in one read as that check alone", async () => {
    const { vault } = await connect("remote");
    const block = await vault.block();
    const before = await examineContracts(vault, block);
    const read = vault.read.bind(vault);
    Object.assign(vault, {
      read: async (...args: Parameters<typeof read>) =>
        args[0] === "getLatestRoundInfo"
          ? await Promise.reject(
              vaultError("VAULT_INTERNAL", { problem: "no" }),
            )
          : await read(...args),
    });
    const after = await examineContracts(vault, block);
    const failing = after
      .filter(({ status }) => status === "fail")
      .map(({ name }) => name);
    expect(failing).to.deep.equal(["vault factory: round", "snapshot"]);
    expect(after.map(({ name }) => name)).to.deep.equal(
      before.map(({ name }) => name).filter((name) => name !== "round"),
    );
  });

  it("should warn of a round that ended and is not settled", async () => {
    const { vault } = await connect("remote");
    const { number } = await vault.block();
    const { endTime } = await vault.getLatestRoundInfo();
    const at = async (timestamp: bigint): Promise<Check> =>
      named(
        await examineContracts(vault, { number, timestamp: Number(timestamp) }),
        "round",
      );
    expect(await at(endTime - 1n)).to.include({ status: "ok" });
    expect(await at(endTime + 3_600n)).to.include({ status: "ok" });
    expect(await at(endTime + 3_601n)).to.include({ status: "warn" });
  });

  describe("a signer", () => {
    it("should fail where it could not pay for a settlement", async () => {
      const checks = await examineSigner((await connect("poor")).vault);
      expect(named(checks, "signer").detail).to.include("a key of the config");
      expect(named(checks, "balance")).to.include({ status: "fail" });
      expect(named(checks, "balance").fix).to.match(/^Fund 0x/u);
    });

    it("should be asked for as much as a settlement would ask", async () => {
      const { vault } = await connect("remote");
      let asked: bigint | null | undefined;
      await vault.settleAll({
        confirm: async ({ maxCost }) => {
          asked = maxCost;
          return "only looking";
        },
      });
      expect(named(await examineSigner(vault), "balance").detail).to.include(
        `may cost ${formatEther(asked ?? 0n)}`,
      );
    });

    it("should be examined with what the whole has left of its time", async () => {
      server.handler = ({ request: { method } }) =>
        method === "eth_call" ? "handled" : undefined;
      let document: unknown;
      // As long as this machine takes to reach its node.
      for (let timeout = 0.5; ; timeout *= 2) {
        const result = await runVaultTask(hre, "doctor", {
          json: true,
          timeout: String(timeout),
        });
        document = parseDocument(result);
        if (result.stdout.includes('"chainId"')) {
          break;
        }
      }
      expect(named(checksIn(document), "signer")).to.include({
        status: "fail",
        detail:
          "Network remote did not answer the requests about its signer in time.",
      });
    });

    it("should be told of with the requests that were made again for it", async () => {
      let hasFailed = false;
      server.handler = ({ request, response }) => {
        if (request.method !== "eth_accounts" || hasFailed) {
          return undefined;
        }
        hasFailed = true;
        response.writeHead(503).end();
        return "handled";
      };
      const result = await runVaultTask(hre, "doctor", { json: true });
      const checks = checksIn(parseDocument(result));
      expect(named(checks, "requests").detail).to.include("HTTP status 503");
      expect(named(checks, "signer")).to.include({ status: "ok" });
    });

    it("should be a warning where there is none, without its key", async () => {
      const other = await createTestHre(
        { networks: hre.userConfig.networks ?? {} },
        { network: "unset" },
      );
      const result = await runVaultTask(other, "doctor", { json: true });
      const checks = checksIn(parseDocument(result));
      expect(named(checks, "signer")).to.include({ status: "warn" });
      expect(named(checks, "signer").detail).to.include("TEST_DOCTOR_KEY");
      server.handler = ({ request: { method } }) =>
        method === "eth_accounts" ? { result: [] } : undefined;
      const [none] = await examineSigner((await connect("half")).vault);
      expect(none).to.include({ name: "signer", status: "warn" });
    });
  });
});
