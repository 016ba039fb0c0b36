import { expect } from "chai";
import { Wallet, concat, zeroPadValue } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import { deployMocks } from "../../src/mocks/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectRevert, expectVaultError } from "../helpers/assertions.js";
import { callMethod } from "../helpers/call-method.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { devKey } from "../helpers/world.js";

const FORWARDER = "0x00000000000000000000000000000000000f0f0f";
/** Calls the addresses in the first two words with the bytes after them; succeeds anyhow. */
const FORWARDER_CODE =
  "0x604036038060406000376000600082600060006000355af1506000600082600060006020355af100";
const GAS = { gasLimit: 1_000_000 };

/** The reasons of reads that fail; "answers" for one that succeeds. */
async function reasons(
  ...reads: ReadonlyArray<() => Promise<unknown>>
): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const read of reads) {
    const error: unknown = await read().then(
      () => ({ details: { reason: "answers" } }),
      (thrown: unknown) => thrown,
    );
    found.push(fieldsOf(fieldsOf(error)["details"])["reason"]);
  }
  return found;
}

describe("fail() with times, in process", () => {
  let hre: HardhatRuntimeEnvironment;
  let connection: NetworkConnection;
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    const settings = { vault: { instances: { weekly: {} } } };
    hre = await createTestHre({
      networks: { default: { type: "edr-simulated", ...settings } },
    });
  });
  beforeEach(async () => {
    connection = await hre.network.create();
    ({ vault } = connection);
    mocks = await vault.deployMocks();
  });
  afterEach(async () => {
    await connection.close();
  });

  const request = async (
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> =>
    await connection.provider.request({ method, params: [...params] });
  const readVolume = async (): Promise<unknown> => await vault.queryVolume();
  const readOrder =
    (orderID: number, from?: string) => async (): Promise<unknown> =>
      await vault.getOrderInfo(orderID, { from });

  it("ends after as many requests, and another fail() has no end", async () => {
    await mocks.fail("queryVolume", "busy", { times: 2 });
    expect(await reasons(readVolume, readVolume, readVolume)).to.eql([
      ...["busy", "busy", "answers"],
    ]);
    await mocks.fail("queryVolume", "busy");
    expect(await reasons(readVolume, readVolume)).to.eql(["busy", "busy"]);
  });

  it("ends after one settleAll(), and the next one settles", async () => {
    await mocks.fail("settleAll", "busy", { times: 1 });
    expect((await vault.settleAll()).status).to.equal("reverted");
    expect((await vault.settleAll()).status).to.equal("settled");
  });

  it("counts an estimate of gas, and a transaction that the node signs", async () => {
    const { settleAll } = mocks.contracts.vault;
    await mocks.fail("settleAll", "busy", { times: 1 });
    await expectRevert(settleAll.estimateGas(), "busy");
    await settleAll.estimateGas();
    await mocks.fail("settleAll", "busy", { times: 1 });
    await expectRevert(settleAll(GAS), "busy");
    await settleAll(GAS);
    expect(await vault.getLatestRoundInfo()).to.include({ settled: true });
  });

  it("counts a transaction that its sender has signed", async () => {
    const wallet = new Wallet(devKey(1), connection.ethers.provider);
    await mocks.fail("settleAll", "busy", { from: wallet, times: 1 });
    const to = mocks.addresses.vault;
    const { data } =
      await mocks.contracts.vault.settleAll.populateTransaction();
    const settle = async (): Promise<unknown> =>
      await wallet.sendTransaction({ to, data, ...GAS });
    await expectRevert(settle(), "busy");
    await settle();
    expect(await vault.getLatestRoundInfo()).to.include({ settled: true });
  });

  it("counts a call that a contract makes, also if it catches the failure", async () => {
    await request("hardhat_setCode", FORWARDER, FORWARDER_CODE);
    await mocks.fail("settleAll", "busy", { from: FORWARDER, times: 1 });
    const signer = await connection.ethers.provider.getSigner(0);
    const to = zeroPadValue(mocks.addresses.vault, 32);
    const data = concat([to, zeroPadValue(NOBODY, 32), "0xa015aefe"]);
    for (const settled of [false, true]) {
      await signer.sendTransaction({ to: FORWARDER, data, ...GAS });
      expect(await vault.getLatestRoundInfo()).to.include({ settled });
    }
  });

  for (const [title, failures] of [
    ["once if it meets both failures of a fail()", [{ times: 2 }]],
    [
      "for each fail() that it meets",
      [
        { pool: "public", times: 1 },
        { pool: "private", times: 1 },
      ],
    ],
  ] as const) {
    it(`counts a request ${title}`, async () => {
      await request("hardhat_setCode", FORWARDER, FORWARDER_CODE);
      for (const failure of failures) {
        await mocks.fail("getLPAmountInfo", "dry", failure);
      }
      const { publicPool, privatePool } = mocks.addresses;
      const pools = [publicPool, privatePool].map((at) => zeroPadValue(at, 32));
      const data = concat([...pools, "0x53ac2d24"]);
      await request("eth_call", { to: FORWARDER, data }, "latest");
      const read = (pool: "public" | "private") => async () =>
        await vault.getLPAmountInfo(pool);
      expect(
        await reasons(read("private"), read("private"), read("public")),
      ).to.eql([
        failures.length === 1 ? "dry" : "answers",
        "answers",
        "answers",
      ]);
    });
  }

  const STRANGERS = { from: NOBODY, times: 1 };
  for (const [title, failures, reads, expected] of [
    [
      "counts the requests of its own order, and ends no other failure",
      [
        ["getOrderInfo", "gone", { orderID: 3n }],
        ["getOrderInfo", "busy", { orderID: 1n, times: 1 }],
        ["getOrderInfo", "busy", { orderID: 2n, times: 1 }],
      ],
      [1, 1, 2, 2, 3].map((orderID) => readOrder(orderID)),
      ["busy", "answers", "busy", "answers", "gone"],
    ],
    [
      "counts no request that fails for another reason",
      [
        ["getOrderInfo", "caller", STRANGERS],
        ["getOrderInfo", "order", { orderID: 2 }],
      ],
      [2, 1, 1].map((orderID) => readOrder(orderID, NOBODY)),
      ["order", "caller", "answers"],
    ],
    [
      "counts no request of another caller that fails for the same reason",
      [
        ["getOrderInfo", "busy", STRANGERS],
        ["getOrderInfo", "busy", { orderID: 2 }],
      ],
      [readOrder(2), readOrder(1, NOBODY), readOrder(1, NOBODY)],
      ["busy", "busy", "answers"],
    ],
    [
      "ends also if the operation fails for all other arguments since",
      [
        ["getOrderInfo", "busy", { orderID: 1n, times: 1 }],
        ["getOrderInfo", "every"],
      ],
      [readOrder(1), readOrder(1)],
      ["busy", "every"],
    ],
  ] as const) {
    it(title, async () => {
      for (const failure of failures) {
        await callMethod(mocks, "fail", ...failure);
      }
      expect(await reasons(...reads)).to.deep.equal(expected);
    });
  }

  it("goes on after evm_revert, and ends with succeed()", async () => {
    await mocks.fail("queryVolume", "busy", { times: 1 });
    const snapshot = await request("evm_snapshot");
    expect(await reasons(readVolume, readVolume)).to.eql(["busy", "answers"]);
    await request("evm_revert", snapshot);
    // Its request was counted before.
    expect(await reasons(readVolume)).to.eql(["answers"]);
    await mocks.fail("queryVolume", "busy", { times: 1 });
    await mocks.succeed("queryVolume");
    await mocks.fail("queryVolume", "busy");
    expect(await reasons(readVolume, readVolume, readVolume)).to.eql([
      ...["busy", "busy", "busy"],
    ]);
  });

  it("counts no request of an older block, of another connection, or that cannot be traced", async () => {
    const { number: blockTag } = await vault.block();
    await request("evm_mine");
    const other = await hre.network.create();
    await other.vault.deployMocks();
    const send = async (): Promise<unknown> =>
      await request("eth_sendRawTransaction", "0x12").catch(String);
    const refusal = await send();
    await mocks.fail("queryVolume", "busy", { times: 1 });
    await vault.queryVolume({ blockTag });
    await other.vault.queryVolume();
    expect(await send()).to.equal(refusal);
    expect(await reasons(readVolume, readVolume)).to.eql(["busy", "answers"]);
    await other.close();
  });

  it("ends for each instance, and has no end in mocks that are deployed since", async () => {
    const weekly = await vault.instance("weekly").deployMocks();
    const readWeekly = async (): Promise<unknown> =>
      await weekly.vault.queryVolume();
    const failure = { operation: "queryVolume", reason: "busy" } as const;
    for (const each of [mocks, weekly]) {
      await each.fail("queryVolume", "busy", { times: 1 });
    }
    expect(
      await reasons(readVolume, readVolume, readWeekly, readWeekly),
    ).to.eql(["busy", "answers", "busy", "answers"]);
    await mocks.fail("queryVolume", "busy", { times: 1 });
    await vault.deployMocks({ overrides: { failures: [failure] } });
    expect(await reasons(readVolume, readVolume)).to.eql(["busy", "busy"]);
  });

  it("is refused over another provider, with VAULT_INVALID_ARGUMENT", async () => {
    const other = await deployMocks(vault.provider);
    await expectVaultError(
      other.fail("settleAll", "busy", { times: 1 }),
      "VAULT_INVALID_ARGUMENT",
    );
  });
});
