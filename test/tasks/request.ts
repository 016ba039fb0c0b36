import { spawnSync } from "node:child_process";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { operationNames } from "../../src/protocol/index.js";
import {
  documentedAnswer,
  documentedContracts,
} from "../helpers/documented-answers.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

const ZERO = "0x0000000000000000000000000000000000000000";
const FROM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const word = (hex: string): string => hex.padStart(64, "0");

const { underlyingAsset, publicPool, privatePool, trading } =
  documentedContracts;
const { vault, vaultFactory } = documentedContracts;

/** Every read operation, and the `to` and `data` of protocol, section 4. */
const reads: ReadonlyArray<
  readonly [
    operation: string,
    rest: { args?: string[]; pool?: string },
    to: string,
    data: string,
  ]
> = [
  [
    "getFundingFeeRate",
    { args: ["1"] },
    underlyingAsset,
    `0xc138aa5f${word("1")}`,
  ],
  [
    "getFundingFeeRate",
    { args: ["put"] },
    underlyingAsset,
    `0xc138aa5f${word("2")}`,
  ],
  ["getLatestRoundInfo", {}, vaultFactory, "0x2016e80b"],
  ["getOrderInfo", { args: ["0x1f"] }, trading, `0xd311636b${word("1f")}`],
  [
    "calMargins",
    { args: ["1", "2", "3"] },
    vault,
    `0xb6624fb0${word("1")}${word("2")}${word("3")}`,
  ],
  ["getLPAmountInfo", { pool: "private" }, privatePool, "0x53ac2d24"],
  ["getLPAmountInfo", { pool: "public" }, publicPool, "0x53ac2d24"],
  ["queryVolume", {}, vault, "0xa69590a8"],
  ["queryMarginBalance", {}, vault, "0xea17f924"],
  ["minXMargin", {}, vaultFactory, "0x789f4b5a"],
];

describe("vault request", () => {
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    server = await startRpcServer({
      handler: ({ request }) => ({ result: documentedAnswer(request) }),
    });
    hre = await createTestHre(
      {
        networks: {
          live: httpNetwork(server.url, {
            vault: { contracts: documentedContracts },
          }),
          withFrom: httpNetwork(server.url, { from: FROM }),
        },
      },
      { network: "live" },
    );
  });
  after(async () => {
    await server.stop();
  });
  afterEach(() => {
    expect(server.requests, "a request must not be sent").to.deep.equal([]);
  });

  for (const [operation, rest, to, data] of reads) {
    it(`should print the request of ${operation} ${JSON.stringify(rest)} and nothing else`, async () => {
      const expected = (id: unknown): string =>
        `{"jsonrpc":"2.0","id":${String(id)},"method":"eth_call","params":[{"from":"${ZERO}","to":"${to}","data":"${data}"},"latest"]}`;
      for (const json of [false, true]) {
        const result = await runVaultTask(hre, "request", {
          operation,
          ...rest,
          json,
        });
        expect(result.stderr).to.equal("");
        expect(result.exitCode).to.equal(0);
        const document: unknown = JSON.parse(result.stdout);
        const id: unknown = Reflect.get(Object(document), "id");
        expect(id).to.be.a("number").above(1_600_000_000_000);
        expect(JSON.stringify(document)).to.equal(expected(id));
      }
    });
  }

  it("should have been tested with every read operation", () => {
    expect(
      new Set([...reads.map(([name]) => name), "settleAll"]),
    ).to.deep.equal(new Set(operationNames));
  });

  it("should explain settleAll instead of inventing a request", async () => {
    const document = parseDocument(
      await runVaultTask(hre, "request", {
        operation: "settleAll",
        json: true,
      }),
    );
    expect(document).to.have.all.keys(
      "operation",
      "to",
      "data",
      "value",
      "explanation",
    );
    expect(document).to.include({ to: vault, data: "0xa015aefe" });
    expect(document)
      .to.have.property("explanation")
      .that.contains("not document")
      .and.contains("vault settle");
    const { stdout, exitCode } = await runVaultTask(hre, "request", {
      operation: "settleAll",
    });
    expect(exitCode).to.equal(0);
    expect(stdout).to.contain("0xa015aefe").and.to.contain("vault settle");
    expect(stdout).to.not.contain('eth_call"');

    const curl = await runVaultTask(hre, "request", {
      operation: "settleAll",
      curl: true,
    });
    expect(curl).to.include({ exitCode: 1, stdout: "" });
    expect(curl.stderr)
      .to.contain("--curl: settleAll is sent as a signed transaction")
      .and.contain("vault settle");
  });

  it("should take the sender from --from, else from the configuration", async () => {
    const senderOf = async (
      network: string,
      args: Readonly<Record<string, unknown>>,
    ): Promise<unknown> => {
      const other = await createTestHre(hre.userConfig, { network });
      const result = await runVaultTask(other, "request", {
        operation: "queryVolume",
        at: `vault=${vault}`,
        json: true,
        ...args,
      });
      return Reflect.get(
        Object(
          Reflect.get(
            Object(Reflect.get(Object(parseDocument(result)), "params")),
            0,
          ),
        ),
        "from",
      );
    };
    expect(await senderOf("live", {})).to.equal(ZERO);
    expect(await senderOf("withFrom", {})).to.equal(FROM);
    expect(await senderOf("live", { from: FROM.toLowerCase() })).to.equal(FROM);
  });

  it("should find the mocks of an in-process network", async () => {
    const inProcess = await createTestHre();
    const { addresses } = await inProcess.vault.deployMocks();
    const { stdout } = await runVaultTask(inProcess, "request", {
      operation: "queryVolume",
      json: true,
    });
    expect(stdout).to.contain(addresses.vault);
  });

  it("vault request --curl prints a command that a shell can run, without the URL", async () => {
    const { stdout } = await runVaultTask(hre, "request", {
      operation: "calMargins",
      args: ["1", "2", "3"],
      curl: true,
    });
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
    expect(JSON.parse(body)).to.have.nested.property("params[0].to", vault);
  });
});
