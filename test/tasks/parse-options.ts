import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import { readTask, tasks } from "../../tasks/definitions.js";

import { parseTaskValues } from "../../tasks/parse-options.js";
import type { Task } from "../../tasks/parse-options.js";
import {
  documentedContracts,
  documentedHandler,
} from "../helpers/documented-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";
import { rowsOf } from "../helpers/rows.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  parseDocument,
  parseTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";

const KEY = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
const BAD_CHECKSUM = SECOND.replace("C8", "c8");

describe("options of tasks", () => {
  const on = true;
  const excluded: ReadonlyArray<readonly [keyof typeof tasks, object, string]> =
    [
      ["settle", { assert: on, calldata: on }, "--assert and --calldata"],
      ["settle", { bump: on, cancel: on }, "--bump and --cancel"],
      ["settle", { calldata: on, partial: on }, "and --partial"],
      ["settle", { calldata: on, maxFeePerGas: "1wei" }, "--max-fee-per-gas"],
      ["settle", { assert: on, resume: on }, "--assert and --resume"],
      ["status", { json: on, format: "prometheus" }, "--json and --format"],
      ["status", { all: on, at: `vault=${SECOND}` }, "--all and --at"],
      ["status", { all: on, instance: "usdc" }, "--all and --instance"],
      ["orders", { raw: on, scaled: on }, "--raw and --scaled"],
      ["rounds", { json: on, format: "csv" }, "--json and --format"],
      ["rounds", { raw: on, scaled: on }, "--raw and --scaled"],
      ["rounds", { block: "1", toBlock: "1" }, "--block and --to-block"],
    ];
  for (const [task, given, where] of excluded) {
    it(`vault ${task} refuses ${Object.keys(given).join(" with ")}`, () => {
      expect(() =>
        parseTaskValues<unknown>(tasks[task], fieldsOf(given)),
      ).to.throw(where);
    });
  }

  for (const [flag, needed] of [
    ["bump", "resume"],
    ["cancel", "resume"],
    ["safe", "calldata"],
  ] as const) {
    it(`vault settle refuses --${flag} without --${needed}`, () => {
      expect(() => parseTaskValues(tasks.settle, { [flag]: on })).to.throw(
        `--${flag}: it needs --${needed}`,
      );
    });
  }

  it("options that do not exclude each other go together, and flags that are not given", () => {
    const given = { assert: false, calldata: on, safe: on, partial: false };
    expect(parseTaskValues(tasks.settle, given)).to.include({ safe: true });
  });
});

const SECRET = "ab".repeat(32);
const ABOVE = (2n ** 256n).toString();

describe("values of options", () => {
  const described: Readonly<Record<string, Task>> = {
    ...tasks,
    ...Object.fromEntries(
      readOperationNames.map((name) => [
        operationEntry(name).task,
        readTask(name),
      ]),
    ),
  };
  const parse = (typed: string): Readonly<Record<string, unknown>> => {
    const [task, args] = parseTyped(typed);
    const found = described[task] ?? expect.fail(`${task} is not listed`);
    return fieldsOf(parseTaskValues(found, args));
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
    simulate --at-time end | atTime | end
    simulate --timeout 0.001 | timeout | 1
    orders --ids 0-499999 | ids | {firstId:0n,lastId:499999n}
    orders --ids 500- | ids | {firstId:500n}
    orders --ids 1,5-6 | ids | {ids:[1n,5n,6n]}
    settle --max-fee-per-gas '1.5 gwei' | maxFeePerGas | 1500000000n
    settle --max-fee-per-gas 1000wei | maxFeePerGas | 1000n
    ${margins} 3 | maxVolume | 3
    ${margins} 0x10 --raw | maxVolume | 16n
    ${margins} 3 | apy | 120000000000000000n
    ${margins} 3 --raw | apy | 12n
  `)) {
    it(`${name} of vault ${typed} is read as ${text}`, () => {
      expect(textOf({ is: parse(typed)[name] })).to.equal(`{is:${text}}`);
    });
  }

  for (const [typed = "", code = "", words = ""] of rowsOf(`
    volume --block newest | VAULT_INVALID_ARGUMENT | --block
    simulate --block pending | VAULT_INVALID_ARGUMENT | --block: pending
    volume --from 0x12 | VAULT_INVALID_ADDRESS | --from
    volume --from ${BAD_CHECKSUM} | VAULT_INVALID_ADDRESS | checksum
    simulate --tokens ${SECOND}, | VAULT_INVALID_ADDRESS | --tokens
    volume --at ${SECOND} | VAULT_INVALID_ARGUMENT | role=0x…[,role=0x…] is needed
    volume --at vault=${SECOND},vault=${SECOND} | VAULT_INVALID_ARGUMENT | each role once
    volume --timeout 0 | VAULT_INVALID_ARGUMENT | seconds from 0.001 to 2147483 is needed, got "0"
    volume --timeout 2147484 | VAULT_INVALID_ARGUMENT | got "2147484"
    watch --until soon | VAULT_INVALID_ARGUMENT | --until
    simulate --at-time -7d | VAULT_INVALID_ARGUMENT | not end or a time
    settle --confirmations 1.5 | VAULT_INVALID_INTEGER | --confirmations
    order ${ABOVE} | VAULT_INVALID_INTEGER | <id>
    settle --max-fee-per-gas 50 | VAULT_INVALID_ARGUMENT | wei or gwei
    settle --max-fee-per-gas 1.5wei | VAULT_INVALID_ARGUMENT | "1.5"
    simulate --ids 9-5 | VAULT_INVALID_ARGUMENT | "9-5" is not a range
    simulate --ids 1-99999999999999999999 | VAULT_INVALID_ARGUMENT | at most 10,000
    orders --ids 1,5- | VAULT_INVALID_INTEGER | An id in --ids
    orders --ids 1,2-999999999 | VAULT_INVALID_ARGUMENT | at most 10,000
    orders --state CALL | VAULT_INVALID_ARGUMENT | --state
    ${margins} 1 --apy -1 | VAULT_INVALID_ARGUMENT | --apy
    capture | VAULT_INVALID_ARGUMENT | --out
    mock set | VAULT_INVALID_ARGUMENT | <changes>
  `)) {
    it(`vault ${typed.slice(0, 60)} is refused with ${code}: ${words}`, () => {
      expect(() => parse(typed))
        .to.throw(words)
        .with.property("code", code);
    });
  }

  it("an error does not repeat what may be a private key", () => {
    for (const typed of [`volume --from ${SECRET}`, `volume --at ${SECRET}`]) {
      expect(() => parse(typed))
        .to.throw("may be a private key")
        .with.property("message")
        .that.does.not.include(SECRET);
    }
  });

  it("an option takes 10,000 ids, each counted once, and not one more", () => {
    const ids = (count: number) => ({ ids: `1,0,1-${count - 1}` });
    expect(() => parseTaskValues(tasks.orders, ids(10_000))).to.not.throw();
    expect(() => parseTaskValues(tasks.orders, ids(10_001))).to.throw(
      "at most 10,000 orders can be named",
    );
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

  // Of the last ones, the node's block or chain shows the mistake.
  const table = `
    live | status --all --block pending | VAULT_INVALID_ARGUMENT | --block: pending is not a
    live | orders --raw --scaled | VAULT_INVALID_ARGUMENT | --raw and --scaled
    live | settle --confirmations 0 --yes | VAULT_INVALID_ARGUMENT | --confirmations:
    live | margins --max-volume 1.0000001 --apy 10 --end-time +7d | VAULT_INVALID_ARGUMENT | --max-volume
    unconfigured | ${MARGINS} +7d | VAULT_TOKEN_DECIMALS_NOT_CONFIGURED | --max-volume | networks.unconfigured.vault.tokenDecimals | --raw
    badFrom | request queryVolume | VAULT_INVALID_ADDRESS | networks.badFrom.from | ${BAD_CHECKSUM} | checksum
    badUrl | volume | VAULT_CONFIG_VARIABLE | badUrl | TEST_BAD_URL | URL
    constructor | volume | VAULT_INVALID_ARGUMENT | constructor | live
    live | ${MARGINS} 2020-01-01 | VAULT_INVALID_ARGUMENT | --end-time | 2023-11-14T22:30:00Z | later
    wrongChain | volume | VAULT_WRONG_CHAIN | wrongChain | 56 | returned 1 | networks.wrongChain.chainId
  `;
  for (const [network = "", typed = "", code = "", ...words] of rowsOf(table)) {
    const needsNode = code === "VAULT_WRONG_CHAIN" || words.includes("later");
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
});
