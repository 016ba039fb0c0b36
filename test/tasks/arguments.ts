import { assert, expect } from "chai";
import { configVariable } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import { TaskDefinitionType } from "hardhat/types/tasks";
import type { NewTaskDefinition } from "hardhat/types/tasks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { VaultErrorCode } from "../../src/errors.js";
import hardhatVault from "../../src/index.js";
import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import { oneOf } from "../../tasks/definitions/options.js";
import { toFlag } from "../../tasks/parse-options.js";
import {
  documentedContracts,
  documentedHandler,
} from "../helpers/documented-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import {
  parseDocument,
  parseTyped,
  runTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const KEY = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
const SECRET = "ab".repeat(32);
const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const BAD_CHECKSUM = ADDRESS.replace("C8", "c8");
const vaultTasks = hardhatVault.tasks ?? [];
const ABOVE = (2n ** 256n).toString();

const blocks = ["newest", "1.5", "-1", "", `${2n ** 64n}`];

/** Texts that an option refuses, by the code of the error. */
type WrongTexts = { readonly [Code in VaultErrorCode]?: readonly string[] };

const wrongBlocks: WrongTexts = { VAULT_INVALID_BLOCK: blocks };
const wrongFixedBlocks: WrongTexts = {
  ...wrongBlocks,
  VAULT_INVALID_ARGUMENT: ["pending"],
};
const wrongAddresses: WrongTexts = {
  VAULT_INVALID_ADDRESS: ["me", "0x12", "", BAD_CHECKSUM, SECRET],
};
const wrongTimes: WrongTexts = {
  VAULT_INVALID_TIME: ["soon", "2026-02-31", "-7d", "7d", "", "0x10"],
};
const wrongSeconds: WrongTexts = {
  VAULT_INVALID_ARGUMENT: [
    ...["0", "0.0001", "2147484", "1e9", "-1", "soon", "5m", ""],
  ],
};
const wrongIntegers: WrongTexts = {
  VAULT_INVALID_INTEGER: ["-1", "1.5", ABOVE, 'a "b"', "", " 1", "0x", "１"],
};
const wrongWords: WrongTexts = { VAULT_INVALID_ENUM: ["CALL", "1", "", "xml"] };
/** Any text is taken. */
const none: WrongTexts = {};

/** By the option's name, or by task and name where tasks differ. */
const wrong: Readonly<Record<string, WrongTexts>> = {
  ...{ instance: none, scenario: none, hardfork: none, terms: none },
  ...{ changes: none, reason: none, args: none, hex: none },
  out: { VAULT_INVALID_ARGUMENT: [""] },
  margins: { VAULT_INVALID_ARGUMENT: [""] },
  ...{ from: wrongAddresses, holder: wrongAddresses },
  settler: wrongAddresses,
  tokens: { VAULT_INVALID_ADDRESS: ["0x12", `${ADDRESS},`, ""] },
  at: {
    VAULT_INVALID_ADDRESS: [`vault=${BAD_CHECKSUM}`],
    VAULT_INVALID_ARGUMENT: [
      ...["", ADDRESS, `valt=${ADDRESS}`, SECRET],
      `vault=${ADDRESS},vault=${ADDRESS}`,
    ],
  },
  block: wrongFixedBlocks,
  "status block": wrongBlocks,
  ...Object.fromEntries(
    readOperationNames.map((operation) => [
      `${operationEntry(operation).task} block`,
      wrongBlocks,
    ]),
  ),
  ...{ fromBlock: wrongFixedBlocks, toBlock: wrongFixedBlocks },
  ids: {
    VAULT_INVALID_INTEGER: ["x", "1,,2", "-1", "", "1.5", "1,x", "5-"],
    VAULT_INVALID_ARGUMENT: [
      ...["9-5", "1-2-3", "1-999999999", "1-10001"],
      "1-99999999999999999999",
    ],
  },
  "orders ids": {
    VAULT_INVALID_INTEGER: ["x", "1,,2", "-1", "", "1.5", "1,5-", "x-"],
    VAULT_INVALID_ARGUMENT: ["9-5", "1-2-3", "1,2-999999999"],
  },
  ...{ atTime: wrongTimes, until: wrongTimes, endTime: wrongTimes },
  ...{ timeout: wrongSeconds, interval: wrongSeconds },
  maxFeePerGas: {
    VAULT_INVALID_ARGUMENT: ["50", "gwei50", "50 eth", ""],
    VAULT_INVALID_DECIMAL: ["-1gwei", "1.5wei", "xgwei", "gwei"],
  },
  ...{
    confirmations: wrongIntegers,
    id: wrongIntegers,
    orderId: wrongIntegers,
  },
  maxVolume: {
    VAULT_INVALID_DECIMAL: ["1.0000001", ABOVE, "-1", "1,5", "1e3"],
  },
  apy: { VAULT_INVALID_DECIMAL: ["-1", "1,5", "1e3", "", ".", "0x10"] },
  ...{ format: wrongWords, state: wrongWords, type: wrongWords },
  ...{ operation: wrongWords, pool: wrongWords },
};

const described = vaultTasks.filter(
  (definition): definition is NewTaskDefinition =>
    definition.type === TaskDefinitionType.NEW_TASK,
);

/** What a task needs beside the argument that is wrong. */
const right: Readonly<Record<string, unknown>> = {
  ...{ maxVolume: "1", apy: "1", endTime: "+7d", id: "1", hex: "0x" },
  ...{ operation: "queryVolume", reason: "closed", out: "out.json" },
  changes: ["round.APY=1"],
};

type Mistake = readonly [
  code: VaultErrorCode,
  typed: string,
  message: readonly string[],
  network?: string,
];

const margins = "margins --max-volume 1 --apy 10 --end-time";

/** Values that are wrong together, or for one operation, and words of the error. */
const alone = [
  [
    "VAULT_INVALID_ARGUMENT",
    {
      "status --all --block pending": "--block: pending is not a fixed",
      "status --all --instance a": "--all and --instance",
      "rounds --to-block 1 --block 1": "--block and --to-block",
      "rounds --format csv --json": "--json and --format: they",
      "orders --format csv --json": "--json and --format: they",
      "simulate --ids 1-401": "--ids: at most 400 orders",
      "settle --assert --resume": "--assert and --resume",
      "settle --assert --calldata": "--assert and --calldata",
      "settle --safe": "--safe: it needs --calldata",
      "settle --calldata --if-expired": "--calldata and",
      "settle --confirmations 0 --yes": "--confirmations: ",
      "watch --interval 0.01": "--interval: ",
      "request calMargins 1": "3 (",
      "request queryVolume --pool public": "--pool",
    },
  ],
  [
    "VAULT_INVALID_TIME",
    {
      "watch --until someday": "--until is not settled, expired or a time",
      "simulate --at-time foo": '--at-time is not end or a time: "foo".',
    },
  ],
  [
    "VAULT_INVALID_INTEGER",
    {
      [`${margins} +7d --raw --max-volume 1.5`]:
        '--max-volume is not a whole number from 0 to 2^256 - 1: "1.5"',
      "request getOrderInfo -1": "<orderID>",
    },
  ],
  ["VAULT_INVALID_BLOCK", { "order 1 --block newest": "finalized" }],
  ["VAULT_MISSING_OPTION", { "request getLPAmountInfo": "--pool" }],
  [
    "VAULT_INVALID_ENUM",
    {
      "deploy-mocks --scenario open": '"open"',
      "request getLPAmountInfo --pool x": "--pool",
      "request getFundingFeeRate 3": "call (1), put (2)",
    },
  ],
] as const;

const mistakes: readonly Mistake[] = [
  ...alone.flatMap(([code, commands]) =>
    Object.entries(commands).map(([typed, says]): Mistake => [
      code,
      typed,
      [says],
    ]),
  ),
  [
    "VAULT_TOKEN_DECIMALS_NOT_CONFIGURED",
    `${margins} +7d`,
    ["--max-volume", "networks.unconfigured.vault.tokenDecimals", "--raw"],
    "unconfigured",
  ],
  ...["2020-01-01", "1700000000", "+0s"].map((time): Mistake => [
    "VAULT_TIME_IN_PAST",
    `${margins} ${time}`,
    ["--end-time", "2023-11-14T22:30:00Z", "later"],
  ]),
  ["VAULT_TIME_IN_PAST", "simulate --at-time 2020-01-01", ["--at-time"]],
  ["VAULT_TIME_IN_PAST", "watch --until 2001-01-01", ["--until"]],
  [
    "VAULT_INVALID_ADDRESS",
    "request queryVolume",
    ["networks.badFrom.from", BAD_CHECKSUM, "checksum"],
    "badFrom",
  ],
  [
    "VAULT_CONFIG_VARIABLE",
    "volume",
    ["badUrl", "TEST_BAD_URL", "URL"],
    "badUrl",
  ],
  ["VAULT_INVALID_ENUM", "volume", ["mainnett", "live"], "mainnett"],
  [
    "VAULT_WRONG_CHAIN",
    "volume",
    ["wrongChain", "56", "returned 1", "networks.wrongChain.chainId"],
    "wrongChain",
  ],
];
/** Mistakes that the node's block or chain shows. */
const needsNode = /^VAULT_(?:TIME_IN_PAST|WRONG_CHAIN)$/u;

describe("bad input of tasks", () => {
  let server: RpcServer;
  const url = (): string => `${server.url}/v3/${KEY}?key=${KEY}`;

  before(() => {
    process.env["TEST_BAD_URL"] = KEY;
  });
  after(() => {
    delete process.env["TEST_BAD_URL"];
  });
  // A request of an earlier test may arrive late.
  beforeEach(async () => {
    server = await startRpcServer({ handler: documentedHandler });
  });
  afterEach(async () => {
    await server.stop();
  });

  async function hreOn(network: string): Promise<HardhatRuntimeEnvironment> {
    const contracts = documentedContracts;
    const live = { vault: { contracts, tokenDecimals: 6 } };
    return await createTestHre(
      {
        networks: {
          live: httpNetwork(url(), live),
          unconfigured: httpNetwork(url()),
          badFrom: httpNetwork(url(), { ...live, from: BAD_CHECKSUM }),
          badUrl: { type: "http", url: configVariable("TEST_BAD_URL") },
          wrongChain: httpNetwork(url(), { ...live, chainId: 56 }),
          unsetKey: httpNetwork(url(), {
            ...live,
            accounts: [configVariable("TEST_UNSET_PRIVATE_KEY")],
          }),
        },
      },
      { network },
    );
  }

  const errorOf = async (
    hre: HardhatRuntimeEnvironment,
    task: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const result = await runVaultTask(hre, task, { ...args, json: true });
    expect(result, "with --json").to.include({ exitCode: 1, stderr: "" });
    const document = parseDocument(result);
    expect(document).to.have.all.keys("error");
    const error = fieldsOf(fieldsOf(document)["error"]);
    expect(error).to.have.all.keys("code", "message", "details");
    return error;
  };

  for (const { id, options, positionalArguments } of described) {
    const task = id.slice(1).join(" ");
    it(`vault ${task} refuses a wrong value of each option with the code of its kind, and sends nothing`, async () => {
      const hre = await hreOn("live");
      const all = [
        ...Object.values(options)
          .filter(({ type }) => type !== ArgumentType.FLAG)
          .map((option) => ({ ...option, where: toFlag(option.name) })),
        ...positionalArguments.map((argument) => ({
          ...argument,
          where: `<${toFlag(argument.name).slice(2)}>`,
        })),
      ].map(({ name, where, description, ...rest }) => ({
        name,
        where,
        isRequired: description.endsWith("(required)"),
        /** If Hardhat itself does not require it. */
        missing: !("isVariadic" in rest)
          ? { value: undefined }
          : rest.isVariadic
            ? { value: [] }
            : undefined,
      }));
      const needed = Object.fromEntries(
        all.flatMap(({ name, isRequired }) =>
          isRequired ? [[name, right[name]]] : [],
        ),
      );
      for (const { name, where, isRequired, missing } of all) {
        const refused = wrong[`${task} ${name}`] ?? wrong[name];
        assert(refused !== undefined, `${name} has no line in the table`);
        for (const [code, texts] of Object.entries(refused)) {
          for (const text of texts) {
            const error = await errorOf(hre, task, { ...needed, [name]: text });
            expect(error, `${name} ${text}`).to.include({ code });
            expect(error["message"], text).to.contain(where);
            const message = String(error["message"]);
            if (text === SECRET) {
              expect(message).to.contain("may be a private key");
              expect(JSON.stringify(error)).to.not.contain(text);
            } else if (!message.includes("at most")) {
              // Of a list, the item that is wrong.
              const { value } = fieldsOf(error["details"]);
              if (code !== "VAULT_INVALID_ARGUMENT") {
                expect(text, name).to.contain(value);
              }
              const items = text.split(/[,=-]/u);
              expect(message).to.satisfy((shown: string) =>
                items.some((item) =>
                  shown.includes(item.replaceAll('"', '\\"')),
                ),
              );
            }
          }
        }
        if (isRequired && missing !== undefined) {
          expect(
            await errorOf(hre, task, { ...needed, [name]: missing.value }),
            name,
          ).to.include({ code: "VAULT_MISSING_OPTION" });
        }
      }
      expect(server.requests).to.deep.equal([]);
    });
  }

  for (const [code, typed, says, network = "live"] of mistakes) {
    it(`vault ${typed} on ${network} fails with ${code}${needsNode.test(code) ? "" : ", and sends nothing"}`, async () => {
      const hre = await hreOn(network);
      const error = await errorOf(hre, ...parseTyped(typed));
      expect(error).to.include({ code });
      expect(server.requests.length > 0).to.equal(needsNode.test(code));
      for (const words of says) {
        expect(error["message"]).to.contain(words);
      }
      const output = JSON.stringify(error);
      expect(output, "the key in the URL").to.not.contain(KEY);
      expect(output, "a network of ours").to.not.contain("vaultFork");
      expect(output, "a stack").to.not.match(/(?:\n|\\n|^)\s+at /u);
    });
  }

  it("the help lists the words of an option, unless they are more than four", () => {
    const words = ["a", "b", "c", "d", "e"];
    expect(oneOf(words.slice(1)).form).to.equal(": b or c or d or e");
    expect(oneOf(words).form).to.equal("");
  });

  it("vault orders refuses a range that nobody can read through with VAULT_INVALID_ARGUMENT", async () => {
    const hre = await hreOn("live");
    const ids = "1-99999999999999999999";
    expect(await errorOf(hre, "orders", { ids })).to.include({
      code: "VAULT_INVALID_ARGUMENT",
    });
  });

  it("read tasks succeed without the keys that the configuration names", async () => {
    const hre = await hreOn("unsetKey");
    for (const typed of [
      ...["volume", "status", "order 1", `${margins} +7d`],
      ...["request queryVolume", "settle --assert"],
    ]) {
      const { exitCode, stderr } = await runTyped(hre, typed);
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: "" });
    }
  });
});
