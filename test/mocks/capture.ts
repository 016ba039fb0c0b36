import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient, operations } from "../../src/client/index.js";
import { readFixture } from "../../src/mocks/capture.js";
import { capture, scenarios } from "../../src/mocks/index.js";
import type {
  CapturedFixture,
  DeployMocksOptions,
} from "../../src/mocks/index.js";
import { keysOf } from "../../src/protocol/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import { distinctState } from "../helpers/distinct-state.js";
import { extremes } from "../helpers/extremes.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre } from "../helpers/hre.js";
import { HASH, NOBODY } from "../helpers/names.js";
import { refuse } from "../helpers/simulate-on.js";

const MAX = 2n ** 256n - 1n;
const FILE = "fixtures/recorded.json";
const TERMS = { maxVolume: 1n, APY: 2n, endTime: 3n };
const FAILING_TERMS = { ...TERMS, endTime: 4n };

describe("capture() and deployMocks({ fixture })", () => {
  let root: string;
  let connection: NetworkConnection;
  let vault: HardhatVault;

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "hardhat-vault-replay-"));
    await mkdir(path.join(root, "fixtures"));
    await writeFile(path.join(root, "package.json"), "{}");
    const hre = await createTestHre(
      { networks: { default: { type: "edr-simulated", chainId: 56 } } },
      { projectRoot: root },
    );
    connection = await hre.network.create();
    ({ vault } = connection);
  });
  after(async () => {
    await connection.close();
    await rm(root, { recursive: true });
  });

  const write = async (content: unknown): Promise<void> => {
    await writeFile(path.join(root, FILE), JSON.stringify(content));
  };
  const replay = async (
    content: unknown,
    options: Omit<DeployMocksOptions, "scenario" | "fixture"> = {},
  ): Promise<MockVaultHandle> => {
    await write(content);
    return await vault.deployMocks({ fixture: FILE, ...options });
  };
  const reasonOf = async (reading: Promise<unknown>): Promise<unknown> =>
    (await expectVaultError(reading, "VAULT_CALL_REVERTED")).details["reason"];

  for (const [scenario, overrides] of [
    ...keysOf(scenarios).map((name) => [name, {}] as const),
    ["open-round", extremes] as const,
  ]) {
    it(`a replay of ${scenario}${overrides === extremes ? " with extreme values" : ""} returns what was captured, and is captured the same`, async () => {
      const orders = [0n, 1n, 2n, 5n, 1_000n, MAX];
      const mocks = await vault.deployMocks({ scenario, overrides });
      const { fixture, failed } = await capture(mocks.vault, { orders });
      // 1,000 and the greatest id, which use up the gas.
      expect(failed).to.equal(scenario === "as-deployed" ? 2 : 0);
      const { block: _one, ...before } = await vault.snapshot();
      const replayed = await replay(fixture);
      expect(replayed.scenario).to.equal(null);
      const { block: _other, ...after } = await vault.snapshot();
      expect(after).to.deep.equal(before);
      const again = await capture(replayed.vault, { orders });
      const { block } = fixture;
      expect({ ...again.fixture, block }).to.deep.equal(fixture);
    });
  }

  describe("failures", () => {
    let fixture: CapturedFixture;
    before(async () => {
      const mocks = await vault.deployMocks({
        overrides: {
          ...distinctState,
          unknownOrders: "revert",
          orders: { 2: { exType: "a\u0000b" } },
          failures: [
            { operation: "getLPAmountInfo", args: ["public"], reason: "dry" },
            {
              ...{ operation: "getLPAmountInfo", args: ["private"] },
              reason: { data: "0x" },
            },
            { operation: "getLatestRoundInfo", reason: { panic: 1 } },
            {
              ...{ operation: "calMargins", args: [FAILING_TERMS] },
              reason: { data: "0xABCD" },
            },
            {
              ...{ operation: "getOrderInfo", args: [4n] },
              reason: "broken",
            },
          ],
        },
      });
      const found = await capture(mocks.vault, {
        orders: [1n, 2n, 5n, 5n, 4n],
        margins: [TERMS, FAILING_TERMS],
      });
      expect(found).to.include({ orders: 4, margins: 2, failed: 6 });
      ({ fixture } = found);
    });

    it("capture() records the revert data in lower case, and values as decimal strings", () => {
      const code = "VAULT_CALL_REVERTED";
      expect(fixture).to.have.deep.nested.include({
        margins: [
          {
            ...{ maxVolume: "1", APY: "2", endTime: "3" },
            ...{ baseMarginAmount: "41", xMarginAmount: "42" },
          },
          {
            ...{ maxVolume: "1", APY: "2", endTime: "4" },
            error: { code, revertData: "0xabcd" },
          },
        ],
        "pools.private": { error: { code, revertData: "0x" } },
        "orders.5.error.code": code,
        "orders.2.exType": "a\u0000b",
        fundingFeeRate: { call: "1", put: "2" },
        volume: "45",
      });
    });

    it("a replay reverts with the recorded data, until succeed()", async () => {
      const mocks = await replay(fixture);
      const reasons = async (): Promise<readonly unknown[]> => {
        const { pools, round } = await vault.snapshot();
        return [pools.public, pools.private, round].map((one) =>
          "error" in one ? one.error.details["reason"] : "answers",
        );
      };
      const panic = "panic code 0x1 (Assertion error)";
      expect(await reasons()).to.eql(["dry", "no reason given", panic]);
      await mocks.succeed("getLPAmountInfo", { args: ["public"] });
      expect(await reasons()).to.eql(["answers", "no reason given", panic]);
    });

    it("a replay with overrides reverts for an order that failed, for one that was not captured, and for a contract without code", async () => {
      const volume = { error: { code: "VAULT_NO_CODE" } };
      const overrides = { orders: { 1: { exFee: 192n } } };
      await replay({ ...fixture, volume }, { overrides });
      expect((await vault.getOrderInfo(1)).exFee).to.equal(192n);
      expect(await reasonOf(vault.queryVolume())).to.equal(
        "recorded failure: VAULT_NO_CODE",
      );
      expect(await reasonOf(vault.getOrderInfo(4))).to.equal("broken");
      expect(await reasonOf(vault.getOrderInfo(6))).to.equal(
        "OrderNotFound(orderID: 6)",
      );
    });

    it("a replay returns the margins of the recorded terms, and reverts with UnexpectedTerms for others", async () => {
      await replay(fixture);
      expect(await vault.calMargins(TERMS)).to.deep.equal({
        ...{ baseMarginAmount: 41n, xMarginAmount: 42n },
      });
      expect(await reasonOf(vault.calMargins(FAILING_TERMS))).to.match(
        /0xabcd/u,
      );
      expect(await reasonOf(vault.calMargins({ ...TERMS, APY: 9n }))).to.equal(
        "UnexpectedTerms(maxVolume: 1, APY: 9, endTime: 3)",
      );
    });
  });

  describe("capture()", () => {
    it("records the state of an older block", async () => {
      const mocks = await vault.deployMocks();
      const { number: blockTag, timestamp } = await vault.block();
      // A change in process belongs to the latest block.
      await connection.provider.request({ method: "evm_mine" });
      await mocks.set({
        ...{ volume: 1n, orders: { 1: { number: 1n } } },
        margins: { baseMarginAmount: 1n },
      });
      const { fixture } = await capture(vault, { blockTag, orders: [1n] });
      expect(fixture).to.have.nested.include({
        ...{ chainId: 56, "block.number": blockTag },
        "block.timestamp": timestamp,
        volume: String(420n * 10n ** 18n),
        "margins[0].baseMarginAmount": String(52_500n * 10n ** 18n),
        "orders.1.number": String(2n * 10n ** 18n),
      });
    });

    it("records the code alone of a reading that fails without revert data", async () => {
      await vault.deployMocks();
      const { fixture } = await capture(vault.at({ publicPool: NOBODY }));
      expect(fixture).to.have.deep.nested.property("pools.public", {
        error: { code: "VAULT_NO_CODE" },
      });
    });

    for (const [options, code] of [
      [{ blockTag: "pending" }, "VAULT_INVALID_ARGUMENT"],
      [{ orders: [1.5] }, "VAULT_INVALID_INTEGER"],
    ] as const) {
      it(`throws ${code} for ${JSON.stringify(options)}`, async () => {
        await expectVaultError(capture(vault, options), code);
      });
    }

    for (const [title, isRefused] of [
      ["VAULT_REORGED if the chain replaces the block meanwhile", false],
      ["VAULT_RPC_ERROR if the node refuses a reading", true],
    ] as const) {
      it(`throws ${title}`, async () => {
        const node = documentedNode();
        let isReplaced = false;
        node.on("eth_call", async ([given], answer) => {
          const { data } = fieldsOf(given);
          const { selector } = operations.calMargins;
          if (String(data).startsWith(selector)) {
            isReplaced = !isRefused;
            return isRefused ? refuse("no")() : await answer();
          }
          return await answer();
        });
        node.on("eth_getBlockByNumber", async (_, answer) => ({
          ...fieldsOf(await answer()),
          ...(isReplaced && { hash: HASH }),
        }));
        await expectVaultError(
          capture(new VaultClient(node, documentedContracts)),
          isRefused ? "VAULT_RPC_ERROR" : "VAULT_REORGED",
        );
      });
    }

    it("records the margins of the round's terms, and none if the round fails", async () => {
      const terms = { maxVolume: 13n, APY: 12n, endTime: 17n };
      const amounts = { baseMarginAmount: 1n, xMarginAmount: 2n };
      const mocks = await vault.deployMocks({
        overrides: { ...distinctState, margins: [{ ...terms, ...amounts }] },
      });
      expect((await capture(vault)).fixture["margins"]).to.deep.equal([
        {
          ...{ maxVolume: "13", APY: "12", endTime: "17" },
          ...{ baseMarginAmount: "1", xMarginAmount: "2" },
        },
      ]);
      await mocks.fail("getLatestRoundInfo");
      expect((await capture(vault)).fixture["margins"]).to.deep.equal([]);
    });
  });
});

describe("a file that is no fixture", () => {
  let folder: string;
  let file: string;
  let fixture: CapturedFixture;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-fixtures-"));
    file = path.join(folder, "recorded.json");
    const vault = new VaultClient(documentedNode(), documentedContracts);
    ({ fixture } = await capture(vault, { orders: [1n] }));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const expectRefusal = async (
    problem: string,
    content: unknown,
  ): Promise<void> => {
    await writeFile(file, JSON.stringify(content));
    const read = readFixture(file);
    const { details } = await expectVaultError(read, "VAULT_INVALID_FIXTURE");
    expect(details["file"]).to.equal(file);
    expect(details["problem"]).to.include(problem);
  };

  for (const [title, change, problem] of [
    ["another format", { format: "other" }, "format"],
    ["another version", { version: 2 }, "version"],
    ["an unknown key", { extra: 1 }, "extra"],
    [
      "a key that is a URL, which it hides",
      { "https://node.example/v2/k3y": 1 },
      '"<url>" is not a field',
    ],
    ["no reading", { volume: undefined }, "volume"],
    ["an order's id with a zero before it", { orders: { "01": {} } }, "id"],
  ] as const) {
    it(`readFixture() refuses ${title}: VAULT_INVALID_FIXTURE`, async () => {
      await expectRefusal(problem, { ...fixture, ...change });
    });
  }

  it("readFixture() refuses a number that JSON rounded: VAULT_INVALID_FIXTURE", async () => {
    const round = { ...fieldsOf(fixture["round"]), APY: 2 ** 60 };
    await expectRefusal("round.APY", { ...fixture, round });
  });

  for (const [title, changes, settledPrice, settledAmount] of [
    ["what it has of a settled round", { settled: true }, 4n, 5n],
    ["the price of an open round, and its orders", { settled: false }, 4n, 1n],
    [
      "the strike price of an open round without one, and its orders",
      ...([{ settled: false, settledPrice: "0" }, 3n, 1n] as const),
    ],
  ] as const) {
    it(`readFixture() scripts a settlement with ${title}`, async () => {
      const round = {
        ...fieldsOf(fixture["round"]),
        ...{ strikePrice: "3", settledPrice: "4", settledAmount: "5" },
        ...changes,
      };
      await writeFile(file, JSON.stringify({ ...fixture, round }));
      const { settlement } = await readFixture(file);
      expect(settlement).to.include({ settledPrice, settledAmount });
    });
  }

  for (const [title, name, problem] of [
    ["a file that is not JSON", "text", "in JSON"],
    ["a file that is not there", "none", "no such file"],
    ["a device", devNull, "not a regular file"],
  ] as const) {
    it(`readFixture() refuses ${title}: VAULT_INVALID_FIXTURE`, async () => {
      await writeFile(path.join(folder, "text"), "{");
      const { details } = await expectVaultError(
        readFixture(path.resolve(folder, name)),
        "VAULT_INVALID_FIXTURE",
      );
      expect(details["problem"]).to.include(problem);
    });
  }
});
