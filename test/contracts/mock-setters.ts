import { expect } from "chai";
import { Contract, id } from "ethers";

import type { MockVaultHandle } from "../../src/types.js";
import { createTestHre } from "../helpers/hre.js";
import { ZERO } from "../helpers/names.js";
import { encodeError, revertOf } from "../helpers/reverts.js";

const BALANCE = ["function balanceOf(address) view returns (uint256)"];
const STRANGER = `0x${"ab".repeat(20)}`;

describe("setters of the mock contracts", () => {
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre();
    const { vault } = await hre.network.create();
    mocks = await vault.deployMocks();
  });
  after(async () => {
    await mocks.vault.connection.close();
  });

  it("setOrders() refuses more ids than orders, and fewer", async () => {
    const { setOrders } = mocks.contracts.trading;
    const order = await mocks.vault.getOrderInfo(1n);
    const exType = "0x";
    for (const ids of [[7n, 8n], []]) {
      const call = setOrders.staticCall(ids, [{ ...order, exType }]);
      expect(await revertOf(call)).to.equal(
        encodeError("LengthMismatch(uint256,uint256)", ids.length, 1n),
      );
    }
  });

  it("script() fails for an account without code, and for a call that reverts, with its data", async () => {
    const { vault, underlyingAsset } = mocks.contracts;
    const { addresses } = mocks;
    const data = underlyingAsset.interface.encodeFunctionData(
      "setFundingFeeRate",
      [9, 1n],
    );
    for (const [target, reason] of [
      [STRANGER, "0x"],
      [addresses.underlyingAsset, encodeError("UnknownContractType(uint8)", 9)],
    ] as const) {
      expect(
        await revertOf(vault.script.staticCall([{ target, data }])),
      ).to.equal(
        encodeError("ScriptedCallFailed(address,bytes)", target, reason),
      );
    }
  });

  it("mockInfo() is the hash of the mock's name", async () => {
    const { vault, trading } = mocks.contracts;
    expect(await vault.mockInfo()).to.equal(id("hardhat-vault/MockVault"));
    expect(await trading.mockInfo()).to.equal(id("hardhat-vault/MockTrading"));
  });

  it("setRevert() makes settleLatestRound() revert, which settleAll() passes on, until clearRevert()", async () => {
    await mocks.vault.deployMocks();
    const { vault, vaultFactory } = mocks.contracts;
    const { selector } =
      vaultFactory.interface.getFunction("settleLatestRound");
    await vaultFactory.setRevert(selector, "0x1234");
    expect(await revertOf(vault.settleAll.staticCall())).to.equal("0x1234");
    await vaultFactory.clearRevert(selector);
    await vault.settleAll.staticCall();
  });

  it("reset() forgets what setRevertWhen() set, and clearRevertWhen() refuses a function that cannot revert", async () => {
    const { vault } = mocks.contracts;
    const { selector } = vault.queryVolume.fragment;
    const [, other] = await mocks.vault.connection.ethers.getSigners();
    const caller = await mocks.vault.connection.ethers.provider.getSigner(0);
    await vault.setRevertWhen(selector, caller, "0x", "0x1234");
    await vault.reset();
    await vault.setRevertWhen(selector, other?.address ?? "", "0x", "0x1234");
    expect(await vault.connect(caller).queryVolume()).to.equal(0n);
    const unknown = "0x12345678";
    expect(
      await revertOf(vault.clearRevertWhen.staticCall(unknown, caller, "0x")),
    ).to.equal(encodeError("FunctionNotScriptable(bytes4)", unknown));
  });

  it("settleAll() pays and records its caller, also a contract, with another token after each reset()", async () => {
    const { vault, publicPool } = mocks.contracts;
    const { addresses } = mocks;
    const tokens = new Set<string>();
    for (const amount of [5n, 6n]) {
      await mocks.vault.deployMocks();
      await vault.setReward(ZERO, 1n);
      await vault.setReward(ZERO, amount);
      const { data } = await vault.settleAll.populateTransaction();
      await publicPool.script([{ target: addresses.vault, data }]);
      const { caller } = await vault.settlement(0);
      expect(caller).to.equal(addresses.publicPool);
      const { token } = await vault.reward();
      tokens.add(token);
      const { balanceOf } = new Contract(token, BALANCE, vault.runner);
      expect(await balanceOf?.staticCall(caller)).to.equal(amount);
    }
    expect(tokens.size).to.equal(2);
  });

  it("settleAll() reverts with RewardNotPaid if the token has no code, or returns false", async () => {
    const { vault } = mocks.contracts;
    const { provider } = mocks.vault;
    await mocks.vault.deployMocks();
    await vault.setReward(STRANGER, 5n);
    for (const code of ["0x", "0x600060005260206000f3"]) {
      const params = [STRANGER, code];
      await provider.request({ method: "hardhat_setCode", params });
      expect(await revertOf(vault.settleAll.staticCall())).to.equal(
        encodeError("RewardNotPaid(address,uint256)", STRANGER, 5n),
      );
    }
  });

  it("settleAll() reverts with FactoryNotSet() before setFactory()", async () => {
    const { vault } = mocks.contracts;
    await vault.reset();
    expect(await revertOf(vault.settleAll.staticCall())).to.equal(
      encodeError("FactoryNotSet()"),
    );
  });
});
