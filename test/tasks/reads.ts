import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { MockVaultHandle } from "../../src/types.js";
import { readArguments } from "../../tasks/arguments.js";
import {
  operationEntry,
  operations,
  readOperationNames,
} from "../../src/protocol/index.js";
import { ORDER_ID, distinctState } from "../helpers/distinct-state.js";
import { createTestHre } from "../helpers/hre.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

const MAX = (2n ** 256n - 1n).toString();

const round = {
  strikePrice: "11",
  APY: "12",
  maxVolume: "13",
  filledVolume: "14",
  minDeposit: "15",
  startTime: "16",
  endTime: "17",
  settledPrice: "18",
  settledAmount: MAX,
  settled: true,
};
const order = {
  orderID: ORDER_ID.toString(),
  exType: "ÄTH/USDT 🚀 longer than one word",
  holder: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  number: "21",
  exFee: "22",
  lockFee: "23",
  newLockFee: "24",
  openPrice: "25",
  marginAmount: "26",
  marginFee: "27",
  startTime: "28",
  closePrice: "29",
  contractType: 7,
  state: 255,
};
const pools = {
  public: { deposit: "31", availabe: "32", locked: "33" },
  private: { deposit: "34", availabe: "35", locked: "36" },
};
const marginBalance = { baseMarginAmount: "43", xMarginAmount: "44" };

/** Every read task and the keys and values that design.md fixes. */
const documents: ReadonlyArray<
  readonly [
    task: string,
    args: Readonly<Record<string, unknown>>,
    expected: Readonly<Record<string, unknown>>,
  ]
> = [
  ["funding-rate", {}, { fundingFeeRate: { call: "1", put: "2" } }],
  ["funding-rate", { type: "call" }, { fundingFeeRate: { call: "1" } }],
  ["funding-rate", { type: "put" }, { fundingFeeRate: { put: "2" } }],
  ["round", {}, { round }],
  ["order", { id: ORDER_ID.toString() }, { order }],
  ["order", { id: `0x${ORDER_ID.toString(16)}` }, { order }],
  ["pools", {}, { pools }],
  [
    "margins",
    { maxVolume: "1.5", apy: "12.5", endTime: "+7d" },
    { margins: { baseMarginAmount: "41", xMarginAmount: "42" } },
  ],
  ["volume", {}, { volume: "45" }],
  ["margin-balance", {}, { marginBalance }],
  ["min-margin", {}, { minXMargin: "46" }],
  [
    "status",
    {},
    {
      status: {
        fundingFeeRate: { call: "1", put: "2" },
        round,
        pools,
        volume: "45",
        marginBalance,
        minXMargin: "46",
      },
    },
  ],
];

describe("read tasks in process", () => {
  let hre: HardhatRuntimeEnvironment;
  let mocks: MockVaultHandle;
  let block: { number: number; timestamp: number };

  before(async () => {
    hre = await createTestHre({
      networks: {
        default: { type: "edr-simulated", vault: { tokenDecimals: 6 } },
      },
    });
    const { vault } = await hre.network.getOrCreate();
    mocks = await vault.deployMocks({ overrides: distinctState });
    block = await vault.block();
  });

  const run = async (
    task: string,
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<string> => {
    const { stdout, stderr, exitCode } = await runVaultTask(hre, task, args);
    expect(stderr, "stderr").to.equal("");
    expect(exitCode, "exit code").to.equal(0);
    expect(stdout, "colours").to.not.contain("\u001b");
    expect(stdout, "blanks at line ends").to.not.match(/ \n/u);
    return stdout;
  };
  /** The line of a field, its columns separated by one blank. */
  const line = (text: string, label: string): string => {
    const found = text.split("\n").find((each) => each.startsWith(label));
    if (found === undefined) {
      throw new Error(`no line "${label}" in:\n${text}`);
    }
    return found.slice(label.length).trim().replaceAll(/ +/gu, " ");
  };

  for (const [task, args, expected] of documents) {
    it(`should print exactly the document of ${task} ${JSON.stringify(args)}`, async () => {
      for (const raw of task === "margins" ? [false] : [false, true]) {
        const result = await runVaultTask(hre, task, {
          ...args,
          raw,
          json: true,
        });
        expect(result.stderr).to.equal("");
        expect(result.exitCode).to.equal(0);
        // As a text, since the order of keys is documented, too.
        expect(JSON.stringify(parseDocument(result))).to.equal(
          JSON.stringify({
            network: "default",
            chainId: 31337,
            block,
            ...expected,
          }),
        );
      }
    });
  }

  it("should have a task for every read operation", () => {
    const tested = new Set(documents.map(([task]) => task));
    for (const operation of readOperationNames) {
      expect(tested).to.include(operationEntry(operation).task);
    }
  });

  it("should let no operation's input stand for an option of all", () => {
    const { inputs } = operations.getOrderInfo;
    for (const name of ["from", "at", "block"]) {
      expect(() =>
        readArguments(inputs.map((field) => ({ ...field, option: name }))),
      ).to.throw(`an operation's input is named like the option ${name}`);
    }
  });

  it("should scale what has a documented scale, and nothing else", async () => {
    await mocks.set({
      round: {
        strikePrice: 1_850_250n * 10n ** 15n,
        APY: 125n * 10n ** 15n,
        maxVolume: 2_500_000n,
        filledVolume: 625_000n,
        minDeposit: 1n,
        startTime: BigInt(block.timestamp) - 3_600n,
        settledPrice: 0n,
        settled: false,
      },
    });
    const text = await run("round");
    expect(line(text, "Strike price")).to.equal("1,850.25");
    expect(line(text, "APY")).to.equal("12.5 %");
    expect(line(text, "Maximum volume")).to.equal("2.5 tokens");
    expect(line(text, "Filled volume")).to.equal("0.625 tokens");
    expect(line(text, "Minimum deposit")).to.equal("0.000001 tokens");
    expect(line(text, "Settled price")).to.equal("0");
    expect(line(text, "Settled amount")).to.equal(
      `${BigInt(MAX).toLocaleString("en")} raw`,
    );
    expect(text.match(/without a documented scale/gu)).to.have.lengthOf(1);
    expect(line(text, "Settled  ")).to.equal("no");
    expect(line(text, "Filled  ")).to.match(/^█{6}░{18} 25\.0 %$/u);
    expect(line(text, "End")).to.match(/^1970-01-01T00:00:17Z \d+d.* ago$/u);

    const raw = await run("round", { raw: true });
    expect(line(raw, "Strike price")).to.equal("1850250000000000000000");
    expect(line(raw, "APY")).to.equal("125000000000000000");
    expect(line(raw, "Maximum volume")).to.equal("2500000");
    expect(line(raw, "End")).to.equal("17");
    expect(raw).to.not.contain("%").and.not.contain("tokens");
  });

  it("should send margins as scaled by the options", async () => {
    const { vault } = await hre.network.getOrCreate();
    const { timestamp } = await vault.block();
    for (const [args, words] of [
      [
        { maxVolume: "1.5", apy: "12.5", endTime: "+1h" },
        [1_500_000n, 125n * 10n ** 15n, BigInt(timestamp) + 3_600n],
      ],
      [
        { maxVolume: ".5", apy: "0.0000000000000001", endTime: "2100-01-01" },
        [500_000n, 1n, 4_102_444_800n],
      ],
      [
        { maxVolume: "0x10", apy: "8", endTime: "4102444800", raw: true },
        [16n, 8n, 4_102_444_800n],
      ],
    ] as const) {
      const calls = await recordCallData(hre, async () => {
        await run("margins", args);
      });
      expect(calls.map(wordsOf)).to.deep.equal([words]);
    }
  });

  it("should read at the block that --block names, and say so", async () => {
    const connection = await hre.network.getOrCreate();
    const { number } = await connection.vault.block();
    await mocks.set({ volume: 46n });
    for (const [task, key] of [
      ["volume", "volume"],
      ["status", "status.volume"],
    ] as const) {
      const document: unknown = JSON.parse(
        await run(task, { json: true, block: `0x${number.toString(16)}` }),
      );
      expect(document).to.have.nested.property(key, "45");
      expect(document).to.have.nested.property("block.number", number);
    }
    await mocks.set({ volume: 45n });
  });

  it("should keep the rest of the status where readings fail", async () => {
    await mocks.fail("queryVolume", "no volume today");
    await mocks.fail("getLPAmountInfo", { panic: 0x11 });
    try {
      const json = await runVaultTask(hre, "status", { json: true });
      expect(json.exitCode).to.equal(1);
      expect(json.stderr).to.equal("");
      const document = parseDocument(json);
      for (const place of ["volume", "pools.public", "pools.private"]) {
        expect(document)
          .to.have.nested.property(`status.${place}`)
          .that.has.all.keys("error");
        expect(document)
          .to.have.nested.property(`status.${place}.error`)
          .that.has.all.keys("code", "message");
      }
      expect(document).to.have.nested.property(
        "status.volume.error.code",
        "VAULT_CALL_REVERTED",
      );
      expect(document).to.have.nested.property("status.minXMargin", "46");

      const text = await runVaultTask(hre, "status");
      expect(text.exitCode).to.equal(1);
      expect(text.stderr).to.equal("");
      expect(text.stdout).to.contain("no volume today");
      expect(text.stdout).to.contain("overflow");
      expect(text.stdout).to.contain("3 of the readings failed");
      expect(line(text.stdout, "Minimum X token margin")).to.contain("46");
    } finally {
      await mocks.succeed("queryVolume");
      await mocks.succeed("getLPAmountInfo");
    }
  });

  it("should say what to do about readings that need an address", async () => {
    const empty = await createTestHre();
    const { stdout, exitCode } = await runVaultTask(empty, "status");
    expect(exitCode).to.equal(1);
    // Once, however many readings and contracts need it.
    expect(stdout.split("Set networks.")).to.have.lengthOf(2);
    expect(stdout).to.match(
      /Set networks\.default\.vault\.contracts\.underlyingAsset, or pass --at underlyingAsset=0x…\. .*\n$/u,
    );
    for (const task of ["status", "doctor"]) {
      const json = await runVaultTask(empty, task, { json: true });
      expect(json.stdout).to.contain(", or pass --at vault=0x…. ");
      expect(json.stdout).to.not.contain("vault.at(");
    }
  });

  it("should take addresses from --at before all others", async () => {
    const swapped = await run("pools", {
      json: true,
      at: `publicPool=${mocks.addresses.privatePool}, privatePool=${mocks.addresses.publicPool}`,
    });
    const document: unknown = JSON.parse(swapped);
    expect(document).to.have.nested.property("pools.public.availabe", "35");
    expect(document).to.have.nested.property("pools.private.availabe", "32");
  });
});

/** The data of every `eth_call` that is made meanwhile. */
async function recordCallData(
  hre: HardhatRuntimeEnvironment,
  work: () => Promise<void>,
): Promise<string[]> {
  const { provider } = await hre.network.getOrCreate();
  const original = provider.request.bind(provider);
  const data: string[] = [];
  provider.request = async (args) => {
    // A third parameter is a lens, which tells of the block.
    if (
      args.method === "eth_call" &&
      Array.isArray(args.params) &&
      args.params.length === 2
    ) {
      data.push(String(Reflect.get(Object(args.params[0]), "data")));
    }
    const result: unknown = await original(args);
    return result;
  };
  try {
    await work();
    return data;
  } finally {
    provider.request = original;
  }
}

/** The words after the selector. */
function wordsOf(data: string): bigint[] {
  return Array.from(data.slice(10).matchAll(/.{64}/gu), ([word]) =>
    BigInt(`0x${word}`),
  );
}
