import { expect } from "chai";
import { id } from "ethers";

import type { MockVaultHandle } from "../../src/types.js";
import { createTestHre } from "../helpers/hre.js";
import { encodeError, revertOf } from "../helpers/reverts.js";

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

  it("setOrders() refuses more ids than orders", async () => {
    const { setOrders } = mocks.contracts.trading;
    expect(await revertOf(setOrders.staticCall([7n, 8n], []))).to.equal(
      encodeError("LengthMismatch(uint256,uint256)", 2n, 0n),
    );
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

  it("countScript() reverts unless it is given the number that mockInfo() returns, which reset() raises", async () => {
    const { vault } = mocks.contracts;
    const { kind, scripts } = await vault.mockInfo();
    expect(kind).to.equal(id("hardhat-vault/MockVault"));
    for (const count of [scripts - 1n, scripts + 1n]) {
      expect(await revertOf(vault.countScript.staticCall(count))).to.equal(
        encodeError("ScriptOutdated(uint256,uint256)", count, scripts),
      );
    }
    await vault.countScript(scripts);
    await vault.reset();
    expect((await vault.mockInfo()).scripts).to.equal(scripts + 2n);
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

  it("settleAll() reverts with FactoryNotSet() before setFactory()", async () => {
    const { vault } = mocks.contracts;
    await vault.reset();
    expect(await revertOf(vault.settleAll.staticCall())).to.equal(
      encodeError("FactoryNotSet()"),
    );
  });
});
