import { assert, expect } from "chai";
import { configVariable } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { VaultErrorCode } from "../../src/errors.js";
import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import { captureTask } from "../../tasks/definitions/capture.js";
import { ordersTask } from "../../tasks/definitions/orders.js";
import { readTask } from "../../tasks/definitions/read.js";
import { reportTask } from "../../tasks/definitions/report.js";
import { roundsTask } from "../../tasks/definitions/rounds.js";
import { settleTask } from "../../tasks/definitions/settle.js";
import { simulateTask } from "../../tasks/definitions/simulate.js";
import { statusTask } from "../../tasks/definitions/status.js";
import { watchTask } from "../../tasks/definitions/watch.js";
import type { Options } from "../../tasks/definitions/options.js";
import {
  excludeAlternatives,
  parseOptions,
  toFlag,
} from "../../tasks/parse-options.js";
import {
  documentedContracts,
  documentedHandler,
} from "../helpers/documented-node.js";
import { newTasks } from "../helpers/every-vault-task.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, hreOnLive, httpNetwork } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";
import { rowsOf } from "../helpers/rows.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  parseDocument,
  parseTyped,
  runTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";

const KEY = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
const SECRET = "ab".repeat(32);
const BAD_CHECKSUM = SECOND.replace("C8", "c8");
const ABOVE = (2n ** 256n).toString();

/** Texts that an option refuses, by the code of the error. */
type WrongTexts = { readonly [Code in VaultErrorCode]?: readonly string[] };

const blocks = ["newest", "1.5", "-1", "", `${2n ** 64n}`];
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
const seconds = ["0", "0.0001", "2147484", "1e9", "-1", "soon", "5m", ""];
const wrongSeconds: WrongTexts = { VAULT_INVALID_ARGUMENT: seconds };
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
  ...{ from: wrongAddresses, holder: wrongAddresses, settler: wrongAddresses },
  tokens: { VAULT_INVALID_ADDRESS: ["0x12", `${SECOND},`, ""] },
  at: {
    VAULT_INVALID_ADDRESS: [`vault=${BAD_CHECKSUM}`],
    VAULT_INVALID_ARGUMENT: [
      ...["", SECOND, `valt=${SECOND}`, SECRET, `vault=${SECOND}=1`],
      `vault=${SECOND},vault=${SECOND}`,
    ],
  },
  block: wrongFixedBlocks,
  // One call, which may be pinned to pending.
  ...Object.fromEntries(
    [
      "status",
      ...readOperationNames.map((name) => operationEntry(name).task),
    ].map((task) => [`${task} block`, wrongBlocks]),
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
  "watch interval": { VAULT_INVALID_ARGUMENT: [...seconds, "0.09"] },
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

/** What a task needs beside the argument that is wrong. */
const right: Readonly<Record<string, unknown>> = {
  ...{ maxVolume: "1", apy: "1", endTime: "+7d", id: "1", hex: "0x" },
  ...{ operation: "queryVolume", reason: "closed", out: "out.json" },
  changes: ["round.APY=1"],
};

describe("options of tasks", () => {
  let hre: HardhatRuntimeEnvironment;
  before(async () => {
    hre = await hreOnLive("http://127.0.0.1:1", {
      vault: { tokenDecimals: 6, instances: { usdc: { tokenDecimals: 2 } } },
    });
  });

  const optionsOf: Readonly<Record<string, Options>> = {
    ...{ simulate: simulateTask.options, orders: ordersTask.options },
    settle: settleTask.options,
    margins: readTask("", operationEntry("calMargins").inputs).options,
  };
  /** JSON without quotes, with an `n` behind a bigint. */
  const textOf = (value: object): string =>
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === "bigint" ? `${inner}n` : inner,
    ).replaceAll('"', "");
  const margins = "margins --end-time 1800000000 --apy 12 --max-volume";
  for (const [typed = "", name = "", text] of rowsOf(`
    simulate --ids '1, 2,5-7,7,0x10' | ids | [1n,2n,5n,6n,7n,16n]
    simulate --tokens '${SECOND.toLowerCase()}, ${SECOND}' | tokens | [${SECOND},${SECOND}]
    simulate --block 1_000 | block | 1000n
    simulate --at-time end | atTime | end
    simulate --fork | fork | true
    simulate | fork | false
    simulate --timeout 0.001 | timeout | 1
    simulate --timeout 0.0011 | timeout | 2
    simulate --timeout 2147483 | timeout | 2147483000
    orders --ids 0-499999 | ids | {firstId:0n,lastId:499999n}
    orders --ids 500- | ids | {firstId:500n}
    orders --ids 7 | ids | {ids:[7n]}
    orders --ids 1,5-6 | ids | {ids:[1n,5n,6n]}
    settle --max-fee-per-gas 50gwei | maxFeePerGas | 50000000000n
    settle --max-fee-per-gas '1.5 gwei' | maxFeePerGas | 1500000000n
    settle --max-fee-per-gas 1000wei | maxFeePerGas | 1000n
    ${margins} 3 | maxVolume | 3000000n
    ${margins} .5 | maxVolume | 500000n
    ${margins} 3 --instance usdc | maxVolume | 300n
    ${margins} 0x10 --raw | maxVolume | 16n
    ${margins} 3 | apy | 120000000000000000n
    ${margins} 3 --raw | apy | 12n
    ${margins} 3 --apy 0.0000000000000001 | apy | 1n
  `)) {
    it(`parseOptions reads ${name} of vault ${typed} as ${text}`, () => {
      const [task, args] = parseTyped(typed);
      const parsed = parseOptions(optionsOf[task] ?? {}, args, hre);
      expect(textOf({ is: fieldsOf(parsed)[name] })).to.equal(`{is:${text}}`);
    });
  }

  it("parseOptions reads an option that is not given as undefined", () => {
    const parsed = parseOptions(simulateTask.options, {}, hre);
    expect(parsed.from).to.equal(undefined);
  });

  it("parseOptions reads a time that counts from the chain's clock", () => {
    const { until } = parseOptions(watchTask.options, { until: "+1h" }, hre);
    expect(typeof until === "object" && until.after(1_000)).to.equal(4_600n);
  });

  for (const [task, { options }, most] of [
    ["capture", captureTask, 10_000],
    ["report", reportTask, 10_000],
    ["simulate", simulateTask, 400],
    ["orders", ordersTask, 10_000],
  ] as const) {
    it(`vault ${task} takes ${most} ids, each counted once, and not one more`, () => {
      const typed = (count: number) => ({
        ...{ out: "fixture.json", ids: `1,0,1-${count - 1}` },
      });
      expect(() => parseOptions(options, typed(most), hre)).to.not.throw();
      expect(() => parseOptions(options, typed(most + 1), hre)).to.throw(
        `at most ${most.toLocaleString("en")} orders can be named`,
      );
    });
  }

  const on = true;
  for (const [task, given, where] of [
    [settleTask, { assert: on, calldata: on }, "--assert and --calldata"],
    [settleTask, { assert: on, resume: on }, "--assert and --resume"],
    [settleTask, { calldata: on, resume: on }, "--calldata and --resume"],
    [settleTask, { bump: on, cancel: on }, "--bump and --cancel"],
    [settleTask, { calldata: on, ifExpired: on }, "and --if-expired"],
    [settleTask, { calldata: on, partial: on }, "--calldata and --partial"],
    [settleTask, { calldata: on, maxFeePerGas: "1wei" }, "and --max-fee-per"],
    [statusTask, { json: on, format: "prometheus" }, "--json and --format"],
    [statusTask, { all: on, at: "vault=0x1" }, "--all and --at"],
    [statusTask, { all: on, instance: "usdc" }, "--all and --instance"],
    [ordersTask, { raw: on, scaled: on }, "--raw and --scaled"],
    [ordersTask, { json: on, format: "csv" }, "--json and --format"],
    [roundsTask, { json: on, format: "csv" }, "--json and --format"],
    [roundsTask, { raw: on, scaled: on }, "--raw and --scaled"],
    [roundsTask, { block: "1", toBlock: "1" }, "--block and --to-block"],
  ] as const) {
    it(`excludeAlternatives refuses ${Object.keys(given).join(" with ")}`, () => {
      expect(() => {
        excludeAlternatives(task.alternatives ?? [], given);
      }).to.throw(where);
    });
  }

  it("excludeAlternatives allows options that do not exclude each other, and flags that are not given", () => {
    excludeAlternatives(settleTask.alternatives ?? [], {
      ...{ assert: false, calldata: on, safe: on, partial: false },
    });
  });
});

const MARGINS = "margins --max-volume 1 --apy 10 --end-time";

describe("a mistake on the command line", () => {
  let server: RpcServer;
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

  const hreOn = async (network: string): Promise<HardhatRuntimeEnvironment> => {
    const url = `${server.url}/v3/${KEY}?key=${KEY}`;
    const contracts = documentedContracts;
    const live = { vault: { contracts, tokenDecimals: 6 } };
    const networks = {
      live: httpNetwork(url, live),
      unconfigured: httpNetwork(url),
      badFrom: httpNetwork(url, { ...live, from: BAD_CHECKSUM }),
      badUrl: { type: "http", url: configVariable("TEST_BAD_URL") },
      wrongChain: httpNetwork(url, { ...live, chainId: 56 }),
      unsetKey: httpNetwork(url, {
        ...live,
        accounts: [configVariable("TEST_UNSET_PRIVATE_KEY")],
      }),
    } as const;
    return await createTestHre({ networks }, { network });
  };

  /** The error of a task with --json, which is all that it prints. */
  const errorOf = async (
    hre: HardhatRuntimeEnvironment,
    task: string,
    args: Readonly<Record<string, unknown>>,
  ) => {
    const result = await runVaultTask(hre, task, { ...args, json: true });
    expect(result, "with --json").to.include({ exitCode: 1, stderr: "" });
    const document = parseDocument(result);
    expect(document).to.have.all.keys("error");
    const error = fieldsOf(fieldsOf(document)["error"]);
    expect(error).to.have.all.keys("code", "message", "details");
    return { ...error, message: String(error["message"]) };
  };

  for (const { id, options, positionalArguments } of newTasks) {
    const task = id.slice(1).join(" ");
    it(`vault ${task} refuses a wrong value of each option with the code of its kind, repeats it unless it may be a key, and sends nothing`, async () => {
      const hre = await hreOn("live");
      const all = [
        ...Object.values(options)
          .filter(({ type }) => type !== ArgumentType.FLAG)
          .map((option) => ({ ...option, where: toFlag(option.name) })),
        ...positionalArguments.map((argument) => ({
          ...argument,
          where: `<${toFlag(argument.name).slice(2)}>`,
        })),
      ];
      const isRequired = (description: string): boolean =>
        description.endsWith("(required)");
      const needed = Object.fromEntries(
        all.flatMap(({ name, description }) =>
          isRequired(description) ? [[name, right[name]]] : [],
        ),
      );
      for (const { name, where, description, ...rest } of all) {
        const refused = wrong[`${task} ${name}`] ?? wrong[name];
        assert(refused !== undefined, `${name} has no line in the table`);
        for (const [code, texts] of Object.entries(refused)) {
          for (const text of texts) {
            const error = await errorOf(hre, task, { ...needed, [name]: text });
            const { message } = error;
            expect(error, `${name} ${text}: ${message}`).to.include({ code });
            expect(message, text).to.contain(where);
            if (text === SECRET) {
              expect(message).to.contain("may be a private key");
              expect(JSON.stringify(error)).to.not.contain(text);
            } else if (!message.includes("at most")) {
              // Of a list, the item that is wrong.
              const items = text.split(/[,=-]/u);
              expect(message).to.satisfy((shown: string) =>
                items.some((item) =>
                  shown.includes(item.replaceAll('"', '\\"')),
                ),
              );
            }
          }
        }
        const isVariadic = "isVariadic" in rest ? rest.isVariadic : undefined;
        // Hardhat itself requires a positional argument that is not variadic.
        if (isRequired(description) && isVariadic !== false) {
          const missing = isVariadic === true ? [] : undefined;
          const error = await errorOf(hre, task, {
            ...needed,
            [name]: missing,
          });
          expect(error).to.include({ code: "VAULT_MISSING_OPTION" });
        }
      }
      expect(server.requests).to.deep.equal([]);
    });
  }

  // Of the last ones, the node's block or chain shows the mistake.
  const table = `
    live | status --all --block pending | VAULT_INVALID_ARGUMENT | --block: pending is not a
    live | status --all --instance a | VAULT_INVALID_ARGUMENT | --all and --instance
    live | settle --bump | VAULT_INVALID_ARGUMENT | --bump: it needs --resume
    live | settle --confirmations 0 --yes | VAULT_INVALID_ARGUMENT | --confirmations:
    live | watch --until x | VAULT_INVALID_TIME | not settled, expired or a
    live | simulate --at-time x | VAULT_INVALID_TIME | not end or a time
    live | order 1 --block newest | VAULT_INVALID_BLOCK | finalized
    live | deploy-mocks --scenario open | VAULT_INVALID_ENUM | "open"
    unconfigured | ${MARGINS} +7d | VAULT_TOKEN_DECIMALS_NOT_CONFIGURED | --max-volume | networks.unconfigured.vault.tokenDecimals | --raw
    badFrom | request queryVolume | VAULT_INVALID_ADDRESS | networks.badFrom.from | ${BAD_CHECKSUM} | checksum
    badUrl | volume | VAULT_CONFIG_VARIABLE | badUrl | TEST_BAD_URL | URL
    mainnett | volume | VAULT_INVALID_ENUM | mainnett | live
    live | ${MARGINS} 2020-01-01 | VAULT_TIME_IN_PAST | --end-time | 2023-11-14T22:30:00Z | later
    live | ${MARGINS} 1700000000 | VAULT_TIME_IN_PAST | --end-time | 2023-11-14T22:30:00Z | later
    live | ${MARGINS} +0s | VAULT_TIME_IN_PAST | --end-time | 2023-11-14T22:30:00Z | later
    live | simulate --at-time 2020-01-01 | VAULT_TIME_IN_PAST | --at-time
    live | watch --until 2001-01-01 | VAULT_TIME_IN_PAST | --until
    wrongChain | volume | VAULT_WRONG_CHAIN | wrongChain | 56 | returned 1 | networks.wrongChain.chainId
  `;
  for (const [network = "", typed = "", code = "", ...words] of rowsOf(table)) {
    const needsNode = /^VAULT_(?:TIME_IN_PAST|WRONG_CHAIN)$/u.test(code);
    it(`vault ${typed} on ${network} fails with ${code}${needsNode ? "" : ", and sends nothing"}`, async () => {
      const [task, args] = parseTyped(typed);
      const error = await errorOf(await hreOn(network), task, args);
      expect(error).to.include({ code });
      for (const word of words) {
        expect(error.message).to.contain(word);
      }
      expect(server.requests.length > 0).to.equal(needsNode);
      const output = JSON.stringify(error);
      expect(output, "the key in the URL").to.not.contain(KEY);
      expect(output, "a network of ours").to.not.contain("vaultFork");
      expect(output, "a stack").to.not.match(/(?:\\n|^)\s+at /u);
    });
  }

  it("a task that reads succeeds without the keys that the configuration names", async () => {
    const hre = await hreOn("unsetKey");
    for (const typed of [
      ...["volume", "status", "order 1", `${MARGINS} +7d`],
      ...["request queryVolume", "settle --assert"],
    ]) {
      const { exitCode, stderr } = await runTyped(hre, typed);
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: "" });
    }
  });
});
