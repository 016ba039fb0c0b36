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

/** The rest of a mistake; without `sent`, nothing may be sent. */
interface Circumstances {
  readonly network?: string;
  readonly node?: RpcHandler;
  /** Requests that cannot be avoided; some may be under way when the task ends. */
  readonly sent?: readonly string[];
}

/** One mistake, its code, and words that the message must have. */
type Mistake = readonly [
  code: VaultErrorCode,
  task: string,
  args: Readonly<Record<string, unknown>>,
  says: readonly string[],
  circumstances?: Circumstances,
];

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
const called = [...header, "eth_call"];
const noCode = {
  node: answers({ eth_call: "0x", eth_getCode: "0x" }),
  sent: [...called, "eth_getCode"],
};

const mistakes: readonly Mistake[] = [
  // Values on the command line.
  [
    "VAULT_INVALID_ADDRESS",
    "volume",
    { from: BAD_CHECKSUM },
    ["--from", BAD_CHECKSUM, "checksum", "40 hex digits"],
  ],
  [
    "VAULT_INVALID_DECIMAL",
    "margins",
    { ...margins, maxVolume: "1.0000001" },
    ["--max-volume", "1.0000001", "at most 6"],
  ],
  [
    "VAULT_INVALID_INTEGER",
    "margins",
    { ...margins, maxVolume: "1.5", raw: true, endTime: "1800000000" },
    ["--max-volume", '"1.5"'],
  ],
  [
    "VAULT_TOKEN_DECIMALS_NOT_CONFIGURED",
    "margins",
    margins,
    ["--max-volume", "networks.unconfigured.vault.tokenDecimals", "--raw"],
    { network: "unconfigured" },
  ],
  ...["2020-01-01", "1700000000", "+0s"].map((endTime): Mistake => [
    "VAULT_TIME_IN_PAST",
    "margins",
    { ...margins, endTime },
    ["--end-time", "2023-11-14T22:13:20Z", "later"],
    { sent: header },
  ]),
  [
    "VAULT_BLOCK_NOT_FOUND",
    "round",
    { block: "123456" },
    ["live", "123456"],
    { node: answers({ eth_getBlockByNumber: null }), sent: header },
  ],

  // Requests.
  ...(
    [
      ["VAULT_INVALID_ARGUMENT", "calMargins", { args: ["1"] }, "3 (", "got 1"],
      ["VAULT_MISSING_OPTION", "getLPAmountInfo", {}, "--pool", "public or"],
      ["VAULT_INVALID_ENUM", "getLPAmountInfo", { pool: "x" }, "--pool", '"x"'],
      ["VAULT_INVALID_ARGUMENT", "queryVolume", { pool: "public" }, "--pool"],
      ["VAULT_INVALID_INTEGER", "getOrderInfo", { args: ["-1"] }, "<orderID>"],
      [
        "VAULT_INVALID_ENUM",
        "getFundingFeeRate",
        { args: ["3"] },
        "call (1), put (2)",
      ],
    ] as const
  ).map(([code, operation, args, ...says]): Mistake => [
    code,
    "request",
    { operation, ...args },
    says,
  ]),

  // Settings.
  [
    "VAULT_INVALID_ADDRESS",
    "volume",
    {},
    ["networks.badVariable.vault.contracts.vault", "40 hex digits"],
    { network: "badVariable", sent: header },
  ],
  [
    "VAULT_INVALID_ADDRESS",
    "request",
    { operation: "queryVolume" },
    ["networks.badFrom.from", BAD_CHECKSUM, "checksum"],
    { network: "badFrom" },
  ],
  [
    "VAULT_CONFIG_VARIABLE",
    "volume",
    {},
    [
      "networks.unsetAddress.vault.contracts.vault",
      "TEST_UNSET_ADDRESS",
      "environment",
    ],
    { network: "unsetAddress", sent: header },
  ],
  [
    "VAULT_CONFIG_VARIABLE",
    "volume",
    {},
    ["unsetUrl", "TEST_UNSET_URL", "environment"],
    { network: "unsetUrl" },
  ],
  [
    "VAULT_CONFIG_VARIABLE",
    "volume",
    {},
    ["badUrl", "TEST_BAD_URL", "URL"],
    { network: "badUrl" },
  ],
  [
    "VAULT_CONTRACT_NOT_CONFIGURED",
    "round",
    {},
    [
      "getLatestRoundInfo",
      "vault factory",
      "networks.unconfigured.vault.contracts.vaultFactory",
      "--at vaultFactory=0x",
      "deploy-mocks",
    ],
    { network: "unconfigured", sent: header },
  ],
  [
    "VAULT_CONTRACT_NOT_CONFIGURED",
    "request",
    { operation: "getOrderInfo", args: ["1"] },
    ["getOrderInfo", "networks.unconfigured.vault.contracts.trading"],
    { network: "unconfigured" },
  ],
  [
    "VAULT_INVALID_ENUM",
    "volume",
    {},
    ["mainnett", "live"],
    { network: "mainnett" },
  ],

  // Nodes.
  [
    "VAULT_WRONG_CHAIN",
    "volume",
    {},
    ["wrongChain", "56", "returned 1", "networks.wrongChain.chainId"],
    { network: "wrongChain", sent: called },
  ],
  [
    "VAULT_NETWORK_UNREACHABLE",
    "round",
    {},
    ["down", "refused the connection", "networks.down.url"],
    { network: "down" },
  ],
  [
    "VAULT_RPC_TIMEOUT",
    "volume",
    { timeout: "0.2" },
    ["timeout"],
    { node: () => "handled", sent: header },
  ],
  ...(
    [
      ["VAULT_RPC_INVALID_RESPONSE", 200, "JSON-RPC"],
      ["VAULT_NETWORK_UNREACHABLE", 403, "HTTP status 403"],
    ] as const
  ).map(([code, status, words]): Mistake => [
    code,
    "round",
    {},
    ["live", words],
    {
      node: ({ response }) => {
        response.writeHead(status);
        response.end(`<html>/v3/${KEY}</html>`);
        return "handled";
      },
      sent: header,
    },
  ]),
  [
    "VAULT_RPC_ERROR",
    "round",
    {},
    ["live", "unknown"],
    {
      node: () => ({
        error: { code: -32000, message: `POST /v3/${KEY}: ${KEY} unknown` },
      }),
      sent: header,
    },
  ],
  [
    "VAULT_CALL_REVERTED",
    "volume",
    {},
    ["queryVolume", "0xdeadbeef", documentedContracts.vault],
    {
      node: ({ request }) =>
        request.method === "eth_call"
          ? { error: { code: 3, message: "reverted", data: "0xdeadbeef" } }
          : { result: documentedAnswer(request) },
      sent: called,
    },
  ],
  [
    "VAULT_NO_CODE",
    "min-margin",
    {},
    [
      documentedContracts.vaultFactory,
      "vault factory",
      "network live",
      "networks.live.vault.contracts.vaultFactory",
    ],
    noCode,
  ],
  [
    "VAULT_RETURN_DATA_MALFORMED",
    "order",
    { id: "1" },
    ["getOrderInfo", "2 bytes", "416", "networks.live.vault.contracts.trading"],
    { node: answers({ eth_call: "0x1234" }), sent: called },
  ],
  [
    "VAULT_RETURN_DATA_MALFORMED",
    "order",
    { id: "1" },
    ["getOrderInfo", "trading"],
    { node: answers({ eth_call: `0x${"ff".repeat(416)}` }), sent: called },
  ],

  // Mocks.
  [
    "VAULT_INVALID_ENUM",
    "deploy-mocks",
    { scenario: "open" },
    ['"open"', "open-round", "extremes"],
  ],
  [
    "VAULT_INVALID_ARGUMENT",
    "deploy-mocks",
    { at: `vault=${ADDRESS}` },
    ["--at"],
  ],
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

  for (const [code, task, args, says, circumstances = {}] of mistakes) {
    const { network = "live", node, sent = [] } = circumstances;
    it(`vault ${task} ${JSON.stringify(args)} on ${network} fails with ${code}`, async () => {
      if (node !== undefined) {
        server.handler = node;
      }
      const hre = await hreOn(network);

      const forPeople = await runVaultTask(hre, task, args);
      expect(forPeople.exitCode, "exit code").to.equal(1);
      expect(forPeople.stdout, "stdout").to.equal("");
      expect(forPeople.stderr)
        .to.match(/^Error /u)
        .and.contain(code);
      const methods = server.requests.map(({ method, params }) =>
        method === "eth_call" && params.length === 3 ? LENS : method,
      );
      expect(sent, "what was sent").to.include.members(methods);

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
        expect(output, "a network of ours").to.not.contain("vaultFork");
        expect(output, "a stack").to.not.match(/\n\s+at /u);
        expect(output, "a stack in JSON").to.not.contain("\\n    at ");
      }
    });
  }

  it("an error gives a program the value itself, but for what may be a private key", async () => {
    for (const [task, args, value] of [
      ["order", { id: 'a "b"' }, 'a "b"'],
      ["margins", { ...margins, apy: "1,5" }, "1,5"],
      [
        "volume",
        { from: "e".repeat(64) },
        "64 hex digits, not shown since they may be a private key",
      ],
    ] as const) {
      const document = parseDocument(
        await runVaultTask(await hreOn("live"), task, { ...args, json: true }),
      );
      expect(document).to.have.nested.property("error.details.value", value);
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
