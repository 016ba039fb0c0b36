import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { VaultErrorCode } from "../../src/errors.js";
import {
  documentedAnswer,
  documentedContracts,
} from "../helpers/documented-answers.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";

const KEY = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const BAD_CHECKSUM = ADDRESS.replace("C8", "c8");
const ABOVE = (2n ** 256n).toString();

/** One mistake, and what has to be said about it. */
interface Mistake {
  readonly name: string;
  readonly task: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly network?: string;
  readonly node?: RpcHandler;
  readonly code: VaultErrorCode;
  /** Words that the message must have: what, where, what to do. */
  readonly says: readonly string[];
  /**
   * Requests that cannot be avoided, some of which may be under way still when
   * the task ends; nothing unless given.
   */
  readonly sent?: readonly string[];
}

/** A node that answers these methods so, and others as documented. */
const answers =
  (results: Readonly<Record<string, string | null>>): RpcHandler =>
  ({ request }) => ({
    result: Object.hasOwn(results, request.method)
      ? results[request.method]
      : documentedAnswer(request),
  });

const margins = { maxVolume: "1", apy: "10", endTime: "+7d" };
const LENS = "eth_call of a lens";
/** By which a document's block and chain are asked for. */
const header = [LENS, "eth_chainId", "eth_getBlockByNumber"];

const mistakes: readonly Mistake[] = [
  // Addresses.
  {
    name: "--from with a wrong checksum",
    task: "volume",
    args: { from: BAD_CHECKSUM },
    code: "VAULT_INVALID_ADDRESS",
    says: ["--from", BAD_CHECKSUM, "checksum", "40 hex digits"],
  },
  {
    name: "--from that is too short",
    task: "status",
    args: { from: "0x12" },
    code: "VAULT_INVALID_ADDRESS",
    says: ["--from", '"0x12"'],
  },
  ...["0", "0.0001", "2147484", "1e9", "-1", "soon"].flatMap(
    (timeout): readonly Mistake[] => [
      {
        name: `--timeout ${timeout}`,
        task: "volume",
        args: { timeout },
        code: "VAULT_INVALID_ARGUMENT",
        says: ["--timeout", "from 0.001 to 2147483", JSON.stringify(timeout)],
      },
      {
        name: `--timeout ${timeout} of a settlement`,
        task: "settle",
        args: { timeout },
        code: "VAULT_INVALID_ARGUMENT",
        says: ["--timeout", "from 0.001 to 2147483", JSON.stringify(timeout)],
      },
    ],
  ),
  {
    name: "a node that does not answer, with --timeout",
    task: "volume",
    args: { timeout: "0.2" },
    node: () => "handled",
    code: "VAULT_RPC_TIMEOUT",
    says: ["timeout"],
    sent: header,
  },
  {
    name: "--at with a wrong checksum",
    task: "volume",
    args: { at: `vault=${BAD_CHECKSUM}` },
    code: "VAULT_INVALID_ADDRESS",
    says: ["--at", "vault contract", BAD_CHECKSUM, "checksum"],
  },
  ...(
    [
      ["ab".repeat(32), "may be a private key"],
      [`0x${"ab".repeat(32)}=${ADDRESS}`, "may be a private key"],
      [`valt=${ADDRESS}`, '"valt"', "vaultFactory"],
      [ADDRESS, ADDRESS, "role=0x"],
      ["", "role=0x"],
      [`vault=${ADDRESS},vault=${ADDRESS}`, "vault is given twice"],
    ] as const
  ).map(([at, ...says]): Mistake => ({
    name: `--at ${at}`,
    task: "volume",
    args: { at },
    code: "VAULT_INVALID_AT",
    says: ["--at", ...says],
  })),
  {
    name: "a configuration variable that holds no address",
    task: "volume",
    network: "badVariable",
    code: "VAULT_INVALID_ADDRESS",
    says: ["networks.badVariable.vault.contracts.vault", "40 hex digits"],
    sent: header,
  },
  {
    name: "a from of the configuration with a wrong checksum",
    task: "volume",
    network: "badFrom",
    code: "VAULT_INVALID_ADDRESS",
    says: ["networks.badFrom.from", BAD_CHECKSUM, "checksum"],
    sent: header,
  },
  {
    name: "a from of the configuration in a request",
    task: "request",
    args: { operation: "queryVolume" },
    network: "badFrom",
    code: "VAULT_INVALID_ADDRESS",
    says: ["networks.badFrom.from", BAD_CHECKSUM, "checksum"],
  },
  {
    name: "an unset configuration variable for an address",
    task: "volume",
    network: "unsetAddress",
    code: "VAULT_CONFIG_VARIABLE",
    says: [
      "networks.unsetAddress.vault.contracts.vault",
      "TEST_UNSET_ADDRESS",
      "environment",
    ],
    sent: header,
  },
  {
    name: "an unset configuration variable for the URL",
    task: "volume",
    network: "unsetUrl",
    code: "VAULT_CONFIG_VARIABLE",
    says: ["unsetUrl", "TEST_UNSET_URL", "environment"],
  },
  {
    name: "a configuration variable that holds no URL",
    task: "volume",
    network: "badUrl",
    code: "VAULT_CONFIG_VARIABLE",
    says: ["badUrl", "TEST_BAD_URL", "URL"],
  },
  {
    name: "a contract without an address",
    task: "round",
    network: "unconfigured",
    code: "VAULT_CONTRACT_NOT_CONFIGURED",
    says: [
      "getLatestRoundInfo",
      "vault factory",
      "networks.unconfigured.vault.contracts.vaultFactory",
      "--at vaultFactory=0x",
      "deploy-mocks",
    ],
    sent: header,
  },
  {
    name: "a request without an address",
    task: "request",
    args: { operation: "getOrderInfo", args: ["1"] },
    network: "unconfigured",
    code: "VAULT_CONTRACT_NOT_CONFIGURED",
    says: ["getOrderInfo", "networks.unconfigured.vault.contracts.trading"],
  },
  {
    name: "an address without code",
    task: "min-margin",
    node: answers({ eth_call: "0x", eth_getCode: "0x" }),
    code: "VAULT_NO_CODE",
    says: [
      documentedContracts.vaultFactory,
      "vault factory",
      "network live",
      "networks.live.vault.contracts.vaultFactory",
    ],
    sent: [...header, "eth_call", "eth_getCode"],
  },
  {
    name: "an address of --at without code",
    task: "min-margin",
    args: { at: `vaultFactory=${ADDRESS}` },
    node: answers({ eth_call: "0x", eth_getCode: "0x" }),
    code: "VAULT_NO_CODE",
    says: [ADDRESS, "vault factory", "network live", "from --at"],
    sent: [...header, "eth_call", "eth_getCode"],
  },

  // Order ids.
  ...["-1", "1.5", ABOVE, "abc", "", " 1", "1.5e0", "0x", "１"].map(
    (id): Mistake => ({
      name: `the order id "${id}"`,
      task: "order",
      args: { id },
      code: "VAULT_INVALID_INTEGER",
      says: ["<id>", "2^256", id === ABOVE ? id : JSON.stringify(id)],
    }),
  ),

  // Contract types, in the command line and in a request.
  ...["CALL", "calls", "1", "3", ""].map((type): Mistake => ({
    name: `the contract type "${type}"`,
    task: "funding-rate",
    args: { type },
    code: "VAULT_INVALID_ENUM",
    says: ["--type", "call, put", JSON.stringify(type)],
  })),

  // Amounts, percents and times.
  {
    name: "more digits than tokenDecimals",
    task: "margins",
    args: { ...margins, maxVolume: "1.0000001" },
    code: "VAULT_TOO_MANY_DIGITS",
    says: ["--max-volume", "1.0000001", "at most 6"],
  },
  {
    name: "more digits than a percent holds",
    task: "margins",
    args: { ...margins, apy: "0.12345678901234567" },
    code: "VAULT_TOO_MANY_DIGITS",
    says: ["--apy", "at most 16"],
  },
  {
    name: "an amount above uint256",
    task: "margins",
    args: { ...margins, maxVolume: ABOVE },
    code: "VAULT_TOO_MANY_DIGITS",
    says: ["--max-volume", "256 bits"],
  },
  ...["-1", "1,5", "1e3", "", "ten", ".", "0x10"].map((apy): Mistake => ({
    name: `the percent "${apy}"`,
    task: "margins",
    args: { ...margins, apy },
    code: "VAULT_INVALID_DECIMAL",
    says: ["--apy", JSON.stringify(apy), "12.5"],
  })),
  {
    name: "a raw amount that is no integer",
    task: "margins",
    args: { ...margins, maxVolume: "1.5", raw: true, endTime: "1800000000" },
    code: "VAULT_INVALID_INTEGER",
    says: ["--max-volume", '"1.5"'],
  },
  {
    name: "an amount in tokens without tokenDecimals",
    task: "margins",
    args: margins,
    network: "unconfigured",
    code: "VAULT_TOKEN_DECIMALS_NOT_CONFIGURED",
    says: [
      "--max-volume",
      "networks.unconfigured.vault.tokenDecimals",
      "--raw",
    ],
  },
  ...["maxVolume", "apy", "endTime"].map((option): Mistake => ({
    name: `margins without ${option}`,
    task: "margins",
    args: { ...margins, [option]: undefined },
    code: "VAULT_MISSING_OPTION",
    says: [
      { maxVolume: "--max-volume", apy: "--apy", endTime: "--end-time" }[
        option
      ] ?? "",
      "is required",
      "next round",
    ],
  })),
  ...["soon", "2026-02-30", "-7d", "7d"].map((endTime): Mistake => ({
    name: `the time "${endTime}"`,
    task: "margins",
    args: { ...margins, endTime },
    code: "VAULT_INVALID_TIME",
    says: ["--end-time", endTime, "+7d"],
  })),
  {
    name: "a raw time that is no integer",
    task: "margins",
    args: { maxVolume: "1", apy: "1", endTime: "+7d", raw: true },
    code: "VAULT_INVALID_INTEGER",
    says: ["--end-time", '"+7d"'],
  },
  ...["2020-01-01", "1700000000", "+0s"].map((endTime): Mistake => ({
    name: `the past time "${endTime}"`,
    task: "margins",
    args: { ...margins, endTime },
    code: "VAULT_TIME_IN_PAST",
    says: ["--end-time", "2023-11-14T22:13:20Z", "later"],
    sent: header,
  })),

  // Blocks.
  ...["newest", "1.5", (2n ** 64n).toString(), ""].map((block): Mistake => ({
    name: `the block "${block}"`,
    task: "round",
    args: { block },
    code: "VAULT_INVALID_BLOCK",
    says: ["--block", "finalized"],
  })),
  {
    name: "a block that does not exist yet",
    task: "round",
    args: { block: "123456" },
    node: answers({ eth_getBlockByNumber: null }),
    code: "VAULT_BLOCK_NOT_FOUND",
    says: ["live", "123456"],
    sent: header,
  },

  // Requests.
  ...(
    [
      ["VAULT_INVALID_ENUM", "minSLDMargin", {}, "<operation>", "minXMargin"],
      [
        "VAULT_INVALID_ARGUMENT",
        "calMargins",
        { args: ["1"] },
        "3 (maxVolume APY endTime)",
        "got 1",
      ],
      [
        "VAULT_INVALID_ARGUMENT",
        "queryVolume",
        { args: ["1"] },
        "queryVolume",
        "no arguments",
        "got 1",
      ],
      [
        "VAULT_MISSING_OPTION",
        "getLPAmountInfo",
        {},
        "--pool",
        "public or private",
      ],
      [
        "VAULT_INVALID_ENUM",
        "getLPAmountInfo",
        { pool: "secret" },
        "--pool",
        "public, private",
        '"secret"',
      ],
      [
        "VAULT_INVALID_ARGUMENT",
        "queryVolume",
        { pool: "public" },
        "--pool",
        "queryVolume",
      ],
      [
        "VAULT_INVALID_INTEGER",
        "getOrderInfo",
        { args: ["-1"] },
        "<orderID>",
        '"-1"',
      ],
      [
        "VAULT_INVALID_ENUM",
        "getFundingFeeRate",
        { args: ["3"] },
        "contractType",
        "call (1), put (2)",
        "3",
      ],
      [
        "VAULT_INVALID_ADDRESS",
        "queryVolume",
        { from: "me" },
        "--from",
        '"me"',
      ],
    ] as const
  ).map(([code, operation, args, ...says]): Mistake => ({
    name: `${operation} ${JSON.stringify(args)}`,
    task: "request",
    args: { operation, ...args },
    code,
    says,
  })),

  // Networks.
  {
    name: "an unknown network",
    task: "volume",
    network: "mainnett",
    code: "VAULT_UNKNOWN_NETWORK",
    says: ["mainnett", "live"],
  },
  {
    name: "a node of another chain",
    task: "volume",
    network: "wrongChain",
    code: "VAULT_WRONG_CHAIN",
    says: ["wrongChain", "56", "answers 1", "networks.wrongChain.chainId"],
  },
  {
    name: "a node that does not run",
    task: "round",
    network: "down",
    code: "VAULT_NETWORK_UNREACHABLE",
    says: ["down", "refused the connection", "networks.down.url"],
  },
  {
    name: "a page instead of JSON",
    task: "round",
    node: ({ response }) => {
      response.end(`<html>/v3/${KEY}</html>`);
      return "handled";
    },
    code: "VAULT_RPC_INVALID_RESPONSE",
    says: ["live", "JSON-RPC"],
    sent: header,
  },
  {
    name: "HTTP 403",
    task: "round",
    node: ({ response }) => {
      response.writeHead(403);
      response.end(KEY);
      return "handled";
    },
    code: "VAULT_NETWORK_UNREACHABLE",
    says: ["live", "HTTP status 403"],
    sent: header,
  },
  {
    name: "an error that repeats the key",
    task: "round",
    node: () => ({
      error: { code: -32000, message: `POST /v3/${KEY}: ${KEY} unknown` },
    }),
    code: "VAULT_RPC_ERROR",
    says: ["live", "unknown"],
    sent: header,
  },

  // Answers.
  {
    name: "a call that reverts",
    task: "volume",
    node: ({ request }) =>
      request.method === "eth_call"
        ? {
            error: {
              code: 3,
              message: "execution reverted",
              data: "0xdeadbeef",
            },
          }
        : { result: documentedAnswer(request) },
    code: "VAULT_CALL_REVERTED",
    says: ["queryVolume", "0xdeadbeef", documentedContracts.vault],
    sent: [...header, "eth_call"],
  },
  {
    name: "an answer that is too short",
    task: "order",
    args: { id: "1" },
    node: answers({ eth_call: "0x1234" }),
    code: "VAULT_RETURN_DATA_TOO_SHORT",
    says: [
      "getOrderInfo",
      "2 bytes",
      "416",
      "networks.live.vault.contracts.trading",
    ],
    sent: [...header, "eth_call"],
  },
  {
    name: "an answer that is malformed",
    task: "order",
    args: { id: "1" },
    node: answers({ eth_call: `0x${"ff".repeat(32 * 13)}` }),
    code: "VAULT_RETURN_DATA_MALFORMED",
    says: ["getOrderInfo", "trading"],
    sent: [...header, "eth_call"],
  },

  // Mocks.
  {
    name: "an unknown scenario",
    task: "deploy-mocks",
    args: { scenario: "open" },
    code: "VAULT_UNKNOWN_SCENARIO",
    says: ['"open"', "open-round", "extremes"],
  },
  {
    name: "mocks at given addresses",
    task: "deploy-mocks",
    args: { at: `vault=${ADDRESS}` },
    code: "VAULT_INVALID_ARGUMENT",
    says: ["--at"],
  },
];

describe("bad input of tasks", () => {
  let server: RpcServer;
  const url = (): string => `${server.url}/v3/${KEY}?key=${KEY}`;

  before(() => {
    process.env["TEST_BAD_ADDRESS"] = KEY;
    process.env["TEST_BAD_URL"] = KEY;
  });
  after(() => {
    delete process.env["TEST_BAD_ADDRESS"];
    delete process.env["TEST_BAD_URL"];
  });
  // One for each: what another test left over may arrive late.
  beforeEach(async () => {
    server = await startRpcServer({
      handler: ({ request }) => ({ result: documentedAnswer(request) }),
    });
  });
  afterEach(async () => {
    await server.stop();
  });

  async function hreOn(network: string): Promise<HardhatRuntimeEnvironment> {
    const contracts = documentedContracts;
    return await createTestHre(
      {
        networks: {
          live: httpNetwork(url(), { vault: { contracts, tokenDecimals: 6 } }),
          unconfigured: httpNetwork(url()),
          badVariable: httpNetwork(url(), {
            vault: { contracts: { vault: configVariable("TEST_BAD_ADDRESS") } },
          }),
          badFrom: httpNetwork(url(), {
            from: BAD_CHECKSUM,
            vault: { contracts },
          }),
          unsetAddress: httpNetwork(url(), {
            vault: {
              contracts: { vault: configVariable("TEST_UNSET_ADDRESS") },
            },
          }),
          unsetUrl: { type: "http", url: configVariable("TEST_UNSET_URL") },
          badUrl: { type: "http", url: configVariable("TEST_BAD_URL") },
          wrongChain: httpNetwork(url(), { chainId: 56, vault: { contracts } }),
          down: httpNetwork(`http://127.0.0.1:1/v3/${KEY}`, {
            vault: { contracts },
          }),
          unsetKey: httpNetwork(url(), {
            accounts: [configVariable("TEST_UNSET_PRIVATE_KEY")],
            vault: { contracts, tokenDecimals: 6 },
          }),
        },
      },
      { network },
    );
  }

  for (const mistake of mistakes) {
    const { name, task, args, network = "live", code, says, sent } = mistake;
    it(`should refuse ${name} (${task})`, async () => {
      if (mistake.node !== undefined) {
        server.handler = mistake.node;
      }
      const hre = await hreOn(network);

      const forPeople = await runVaultTask(hre, task, args);
      expect(forPeople.exitCode, "exit code").to.equal(1);
      expect(forPeople.stdout, "stdout").to.equal("");
      expect(forPeople.stderr)
        .to.match(/^Error /u)
        .and.contain(code);
      if (code !== "VAULT_WRONG_CHAIN") {
        const methods = new Set(
          server.requests.map(({ method, params }) =>
            method === "eth_call" && params.length === 3 ? LENS : method,
          ),
        );
        expect(sent ?? [], "what was sent").to.include.members([...methods]);
      }

      const forScripts = await runVaultTask(hre, task, { ...args, json: true });
      expect(forScripts.exitCode, "exit code with --json").to.equal(1);
      expect(forScripts.stderr, "stderr with --json").to.equal("");
      const document = parseDocument(forScripts);
      expect(document).to.have.all.keys("error");
      const error: unknown = Reflect.get(Object(document), "error");
      expect(error).to.have.all.keys("code", "message", "details");
      expect(error).to.have.property("code", code);

      for (const text of [
        forPeople.stderr.replaceAll("\n", " "),
        String(Reflect.get(Object(error), "message")),
      ]) {
        for (const words of says) {
          expect(text).to.contain(words);
        }
      }
      for (const output of [forPeople.stderr, forScripts.stdout]) {
        expect(output, "the key in the URL").to.not.contain(KEY);
        expect(output, "a stack").to.not.match(/\n\s+at /u);
        expect(output, "a stack in JSON").to.not.contain("\\n    at ");
      }
    });
  }

  const given: ReadonlyArray<
    readonly [
      task: string,
      args: Readonly<Record<string, unknown>>,
      value: string,
    ]
  > = [
    ["order", { id: 'a "b"' }, 'a "b"'],
    ["round", { block: "soon" }, "soon"],
    ["volume", { from: "0x12" }, "0x12"],
    ["funding-rate", { type: "CALL" }, "CALL"],
    ["margins", { ...margins, apy: "1,5" }, "1,5"],
    ["margins", { ...margins, endTime: "soon" }, "soon"],
    [
      "volume",
      { from: "e".repeat(64) },
      "64 hex digits, not shown since they may be a private key",
    ],
  ];
  for (const [task, args, value] of given) {
    it(`should give a program the value itself: ${value} (${task})`, async () => {
      const document = parseDocument(
        await runVaultTask(await hreOn("live"), task, { ...args, json: true }),
      );
      expect(document).to.have.nested.property("error.details.value", value);
    });
  }

  it("should say where else to look where a contract refuses without a word", async () => {
    for (const [data, hinted] of [
      ["0x", true],
      ["0xdeadbeef", false],
    ] as const) {
      server.handler = ({ request }) =>
        request.method === "eth_call"
          ? { error: { code: 3, message: "execution reverted", data } }
          : {
              result:
                request.method === "eth_getCode"
                  ? // PUSH4 of the selector: the function is there.
                    "0x63a69590a8"
                  : documentedAnswer(request),
            };
      const { stderr } = await runVaultTask(await hreOn("live"), "volume");
      expect(stderr).to.contain("VAULT_CALL_REVERTED");
      expect(
        stderr.includes(
          "another contract would: check the address, which comes from networks.live.vault.contracts.vault",
        ),
        stderr,
      ).to.equal(hinted);
    }
  });

  it("should read without the keys that the configuration names", async () => {
    const hre = await hreOn("unsetKey");
    for (const [task, args] of [
      ["volume", {}],
      ["status", {}],
      ["order", { id: "1" }],
      ["margins", margins],
      ["request", { operation: "queryVolume" }],
    ] as const) {
      const { exitCode, stderr } = await runVaultTask(hre, task, args);
      expect(stderr, task).to.equal("");
      expect(exitCode, task).to.equal(0);
    }
  });
});
