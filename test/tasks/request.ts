import { spawnSync } from "node:child_process";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { operations } from "../../src/protocol/index.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  documentedHandler,
  documentedContracts,
} from "../helpers/documented-node.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { itOnPosix } from "../helpers/posix.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";

const NOBODY = "0x00000000000000000000000000000000000000AA";
const OTHER = "0x00000000000000000000000000000000000000bb";
/** An argument as it is encoded. */
const word = (value: number): string => value.toString(16).padStart(64, "0");

/** A request's id is the time. */
const withoutId = (command: unknown): string =>
  String(command).replace(/"id":\d+/u, "");

describe("vault request", () => {
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    server = await startRpcServer({ handler: documentedHandler });
    const contracts = documentedContracts;
    const instances = { usdc: { contracts: { vault: NOBODY } } };
    hre = await hreOnLive(server.url, {
      ...{ from: OTHER, vault: { contracts, instances } },
    });
  });
  after(async () => {
    await server.stop();
  });
  afterEach(() => {
    expect(server.requests, "a request must not be sent").to.deep.equal([]);
  });

  for (const [typed, role, data] of [
    ["getFundingFeeRate put", "underlyingAsset", `0xc138aa5f${word(2)}`],
    ["getFundingFeeRate 1", "underlyingAsset", `0xc138aa5f${word(1)}`],
    ["getLatestRoundInfo", "vaultFactory", "0x2016e80b"],
    ["getOrderInfo 0x1f", "trading", `0xd311636b${word(31)}`],
    ["calMargins 1 2 3", "vault", `0xb6624fb0${word(1)}${word(2)}${word(3)}`],
    ["getLPAmountInfo --pool public", "publicPool", "0x53ac2d24"],
    ["getLPAmountInfo --pool private", "privatePool", "0x53ac2d24"],
    ["queryVolume", "vault", operations.queryVolume.selector],
    ["queryMarginBalance", "vault", operations.queryMarginBalance.selector],
    ["minXMargin", "vaultFactory", "0x789f4b5a"],
  ] as const) {
    it(`request ${typed} prints a call of ${role}, from networks.<name>.from or --from`, async () => {
      for (const [option, from] of [
        ["", OTHER],
        [` --from ${NOBODY}`, NOBODY],
      ] as const) {
        const { stdout } = await runTyped(hre, `request ${typed}${option}`);
        expect(JSON.parse(stdout)).to.deep.include({
          ...{ jsonrpc: "2.0", method: "eth_call" },
          params: [{ from, to: documentedContracts[role], data }, "latest"],
        });
      }
    });
  }

  for (const [options, to] of [
    ["", documentedContracts.vault],
    [" --instance usdc", NOBODY],
    [` --at vault=${OTHER}`, OTHER],
    [` --at vault=${OTHER} --instance usdc`, OTHER],
    [` --at trading=${OTHER}`, documentedContracts.vault],
  ] as const) {
    it(`request queryVolume${options} names ${to}`, async () => {
      const { stdout } = await runTyped(hre, `request queryVolume${options}`);
      expect(JSON.parse(stdout)).to.have.nested.property("params[0].to", to);
    });
  }

  it("request without a sender in the configuration calls from the zero address", async () => {
    const contracts = documentedContracts;
    const bare = await hreOnLive(server.url, { vault: { contracts } });
    const { stdout } = await runTyped(bare, "request queryVolume");
    expect(JSON.parse(stdout)).to.have.nested.property(
      "params[0].from",
      `0x${"0".repeat(40)}`,
    );
  });

  it("request settleAll prints the call data, and why it is no eth_call, and has no --curl", async () => {
    const { stdout } = await runTyped(hre, "request settleAll --json");
    expect(JSON.parse(stdout))
      .to.include({
        ...{ operation: "settleAll", to: documentedContracts.vault },
        ...{ data: "0xa015aefe", value: "0x0" },
      })
      .and.have.property("explanation")
      .that.includes("sent as a transaction");
    const person = await runTyped(hre, "request settleAll");
    expect(JSON.parse(person.stdout)).to.deep.equal(JSON.parse(stdout));
    const refused = await runTyped(hre, "request settleAll --curl");
    expect(refused).to.include({ exitCode: 1, stdout: "" });
    expect(refused.stderr).to.include("(VAULT_INVALID_ARGUMENT)");
  });

  for (const [typed, code, says] of [
    ["getOrderInfo", "VAULT_INVALID_ARGUMENT", "it takes 1 (orderID), got 0"],
    ["getOrderInfo 5 6", "VAULT_INVALID_ARGUMENT", "got 2"],
    ["queryVolume 1", "VAULT_INVALID_ARGUMENT", "no arguments, got 1"],
    ["getFundingFeeRate 256", "VAULT_INVALID_ENUM", "call (1), put (2)"],
    ["settleAll --pool private", "VAULT_INVALID_ARGUMENT", "has no pool"],
    ["getOrder 1", "VAULT_INVALID_ENUM", "getOrderInfo"],
  ] as const) {
    it(`request ${typed} fails with ${code}`, async () => {
      const result = await runTyped(hre, `request ${typed} --json`);
      expect(result.exitCode).to.equal(1);
      const { error } = fieldsOf(parseDocument(result));
      expect(error).to.include({ code });
      expect(fieldsOf(error)["message"]).to.include(says);
    });
  }

  it("request finds the mocks of an in-process network, or what --instance or --at name", async () => {
    const instances = { usdc: { contracts: { vault: NOBODY } } };
    const inProcess = await createTestHre(
      { networks: { local: { type: "edr-simulated", vault: { instances } } } },
      { network: "local" },
    );
    const { vault } = await inProcess.network.getOrCreate("local");
    const { addresses } = await vault.deployMocks();
    for (const [options, to] of [
      ["", addresses.vault],
      [" --instance usdc", NOBODY],
      [` --at vault=${OTHER}`, OTHER],
    ] as const) {
      const typed = `request queryVolume${options}`;
      const { stdout } = await runTyped(inProcess, typed);
      expect(JSON.parse(stdout)).to.have.nested.property("params[0].to", to);
    }
  });

  it("request --json prints the request, and with --curl the command as its document", async () => {
    const documentOf = async (options: string): Promise<unknown> =>
      parseDocument(await runTyped(hre, `request queryVolume ${options}`));
    expect(await documentOf("--json")).to.include({ method: "eth_call" });
    const { stdout } = await runTyped(hre, "request queryVolume --curl");
    const printed = fieldsOf(await documentOf("--json --curl"));
    expect(Object.keys(printed)).to.deep.equal(["curl"]);
    expect(withoutId(printed["curl"])).to.equal(withoutId(stdout.trimEnd()));
  });

  itOnPosix(
    "request --curl prints a command that a shell can run, without the URL",
    async () => {
      const typed = "request calMargins 1 2 3 --curl";
      const { stdout } = await runTyped(hre, typed);
      expect(stdout).to.not.contain(server.url);
      // curl's stand-in prints its arguments; only the shell is under test.
      const { stdout: shown, status } = spawnSync(
        "sh",
        ["-c", `curl() { printf '%s\\n' "$@"; }\n${stdout}`],
        { encoding: "utf8", env: { ...process.env, RPC_URL: "http://node" } },
      );
      expect(status).to.equal(0);
      const args = shown.trimEnd().split("\n");
      expect(args).to.include("Content-Type: application/json");
      expect(args.at(-1)).to.equal("http://node");
      const body = args[args.indexOf("--data") + 1] ?? "";
      expect(JSON.parse(body)).to.have.nested.property(
        "params[0].to",
        documentedContracts.vault,
      );
    },
  );
});
