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
/** Calls the address in the first word with the bytes after it; succeeds anyhow. */
const FORWARDER_CODE = "0x602036038060206000376000600082600060006000355af100";
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
    hre = await createTestHre();
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
    const data = concat([to, "0xa015aefe"]);
    for (const settled of [false, true]) {
      await signer.sendTransaction({ to: FORWARDER, data, ...GAS });
      expect(await vault.getLatestRoundInfo()).to.include({ settled });
    }
  });

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

  it("is refused over another provider, with VAULT_INVALID_ARGUMENT", async () => {
    const other = await deployMocks(vault.provider);
    await expectVaultError(
      other.fail("settleAll", "busy", { times: 1 }),
      "VAULT_INVALID_ARGUMENT",
    );
  });
});
