import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import { capture } from "../../src/mocks/index.js";
import type { DeployMocksOptions } from "../../src/mocks/index.js";
import type { HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";

const TERMS = { maxVolume: 1n, APY: 2n, endTime: 3n };
const OTHER_TERMS = { maxVolume: 1n, APY: 2n, endTime: 4n };

describe("mocks - a replay of a captured vault", () => {
  let vault: HardhatVault;
  let folder: string;
  let file: string;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
    folder = await mkdtemp(path.join(tmpdir(), "replay-"));
    file = path.join(folder, "fixture.json");
    const mocks = await vault.deployMocks();
    await mocks.fail("calMargins", "too soon", { terms: OTHER_TERMS });
    await mocks.fail("getOrderInfo", { data: "0x12345678" }, { orderID: 2n });
    const { fixture, failed, margins } = await capture(vault, {
      orders: [1, 2n],
      margins: [TERMS, OTHER_TERMS],
    });
    expect([failed, margins]).to.deep.equal([2, 3]);
    await writeFile(file, JSON.stringify(fixture));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const replay = async (
    overrides: DeployMocksOptions["overrides"] = {},
  ): Promise<void> => {
    await vault.deployMocks({ fixture: file, overrides });
  };

  const reasonOf = async (reading: Promise<unknown>): Promise<unknown> =>
    (await expectVaultError(reading, "VAULT_CALL_REVERTED")).details["reason"];

  it("calMargins() returns the recorded margins for the recorded terms, and reverts with UnexpectedTerms for others", async () => {
    await replay();
    const { maxVolume, APY, endTime } = await vault.getLatestRoundInfo();
    for (const terms of [TERMS, { maxVolume, APY, endTime }]) {
      expect(await vault.calMargins(terms)).to.include({
        xMarginAmount: 10_500n * 10n ** 18n,
      });
    }
    expect(await reasonOf(vault.calMargins(OTHER_TERMS))).to.equal("too soon");
    expect(
      await reasonOf(vault.calMargins({ maxVolume: 5n, APY: 6n, endTime: 7n })),
    ).to.equal("UnexpectedTerms(maxVolume: 5, APY: 6, endTime: 7)");
  });

  it("calMargins() returns margins for all terms if overrides has them", async () => {
    await replay({ margins: { baseMarginAmount: 5n, xMarginAmount: 6n } });
    expect(await vault.calMargins({ ...TERMS, APY: 9n })).to.deep.equal({
      baseMarginAmount: 5n,
      xMarginAmount: 6n,
    });
  });

  it("getOrderInfo() reverts with the recorded data for an order that reverted, and with OrderNotFound for one that was not captured", async () => {
    await replay();
    expect(await vault.getOrderInfo(1n)).to.include({ exType: "BTC-USDT" });
    expect(await reasonOf(vault.getOrderInfo(2n))).to.match(/0x12345678/u);
    expect(await reasonOf(vault.getOrderInfo(3n))).to.equal(
      "OrderNotFound(orderID: 3)",
    );
  });

  it("failures of overrides replace the recorded ones", async () => {
    await replay({ failures: [{ operation: "queryVolume", reason: "shut" }] });
    expect(await reasonOf(vault.queryVolume())).to.equal("shut");
    expect(await reasonOf(vault.getOrderInfo(2n))).to.equal(
      "OrderNotFound(orderID: 2)",
    );
  });
});
