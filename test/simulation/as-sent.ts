import { expect } from "chai";
import { getAddress, toQuantity } from "ethers";

import type { Simulation } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { describeEngines } from "../helpers/engine-stage.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";

/** What RebateVault refunds: 74,251 gas at the transaction's price. */
const REFUNDED_GAS = 74_251n;
/** More than 12 slots of storage, and less than the vault's own two. */
const GAS_OF_STORING = 250_000n;

const SAFE = getAddress(`0x${"00".repeat(18)}5afe`);
const POOR = getAddress(`0x${"00".repeat(18)}beef`);

const refundIn = ({ transfers }: Simulation): bigint | undefined =>
  transfers?.find(({ token }) => token === "native")?.amount;

describe("every engine executes a settlement as it would be sent", () => {
  describeEngines((engine, stage) => {
    it(`${engine} predicts the gas of a vault that stores more if somebody pays for gas`, async () => {
      const { vault } = await stage.deploy("PricedVault");
      const from = await stage.accountOf(0);
      const { gasUsed, status } = await stage.simulate(vault, { from });
      const real = await stage.settleReally(vault, { from, time: undefined });
      expect({ status, gasUsed }).to.deep.equal({
        ...{ status: "settled", gasUsed: real.gasUsed },
      });
    });

    it(`${engine} shows what a vault refunds by the price of gas`, async () => {
      const { vault } = await stage.deploy("RebateVault");
      const from = await stage.accountOf(0);
      const simulation = await stage.simulate(vault, { from });
      const real = await stage.settleReally(vault, { from, time: undefined });
      const refund = refundIn(simulation) ?? 0n;
      // The same refund at another price of gas.
      expect(refund % REFUNDED_GAS).to.equal(0n);
      expect(refund > 0n && real.succeeded).to.equal(true);
      const [own] = simulation.balances.filter(
        ({ account }) => account === from,
      );
      const fee = ((simulation.gasUsed ?? 0n) * refund) / REFUNDED_GAS - refund;
      expect((own?.before ?? 0n) - (own?.after ?? 0n)).to.equal(fee);
    });

    it(`${engine} subtracts no fee from a sender with code, and the vault sees the price that another account pays`, async () => {
      const { vault } = await stage.deploy("PricedVault");
      const setCode =
        engine === "in-process" ? "hardhat_setCode" : "anvil_setCode";
      const setBalance = setCode.replace("Code", "Balance");
      for (const wei of [0n, 10n ** 18n, 10n ** 22n]) {
        await stage.send(setCode, SAFE, "0x00");
        await stage.send(setBalance, SAFE, toQuantity(wei));
        const { balances, notes, gasUsed } = await stage.simulate(vault, {
          from: SAFE,
        });
        expect(balances).to.deep.equal([]);
        expect(notes.join(" ")).to.contain("tx.origin");
        expect(notes.join(" ")).not.to.contain("lent");
        expect(gasUsed).to.be.greaterThan(Number(GAS_OF_STORING));
      }
    });

    it(`${engine} lends the fee to a sender who cannot pay, so that the vault sees the price, and notes it`, async () => {
      const { vault } = await stage.deploy("PricedVault");
      const { balances, notes, gasUsed } = await stage.simulate(vault, {
        from: POOR,
      });
      expect(gasUsed).to.be.greaterThan(Number(GAS_OF_STORING));
      expect(balances).to.deep.equal([]);
      expect(notes.join(" ")).to.match(
        /The sender cannot pay for gas: it has 0 wei, and the fee is \d+ wei\. The fee was lent to it/u,
      );
    });

    it(`${engine} notes EIP-7825 if a settlement fails with more gas than such a chain allows a transaction`, async () => {
      const { vault } = await stage.deploy("WastingVault");
      const { status, notes, gasUsed } = await stage.simulate(vault);
      expect(status).to.equal("reverted");
      expect(gasUsed).to.be.greaterThan(16_777_216);
      expect(notes.join(" ")).to.contain("EIP-7825");
    });
  });
});

describe("the requests of a simulation", () => {
  const anvil = useAnvil();

  for (const [who, wei, code, pays] of [
    ["can pay for a block's gas", 10n ** 22n, "0x", true],
    ["can pay for the settlement only", 10n ** 16n, "0x", true],
    ["cannot pay", 0n, "0x", false],
    ["is a contract", 0n, "0x00", false],
    ["is a rich contract that takes no money", 10n ** 22n, "0x5f5ffd", false],
    // EIP-7702
    ["delegates its code", 10n ** 22n, `0xef0100${"0".repeat(40)}`, true],
  ] as const) {
    it(`are the newest block and the next one, the tip and eth_simulateV1 for a sender who ${who}, who pays ${pays ? "the fee" : "nothing"}`, async () => {
      const { vault } = await connectTo(anvil.url);
      const { provider } = vault.connection.ethers;
      const { contracts } = await deploySettlingVault(
        await provider.getSigner(0),
        "PricedVault",
      );
      await provider.send("anvil_setCode", [SAFE, code]);
      await provider.send("anvil_setBalance", [SAFE, toQuantity(wei)]);
      const server = await startRpcServer({ upstream: anvil.url });
      try {
        const { vault: seen } = await connectTo(server.url);
        const { gasUsed, balances, status } = await seen
          .at(contracts)
          .simulateSettleAll({ from: SAFE });
        expect(server.requests.map(({ method }) => method)).to.deep.equal([
          ...["eth_getBlockByNumber", "eth_getBlockByNumber"],
          ...["eth_maxPriorityFeePerGas", "eth_simulateV1"],
        ]);
        expect(status).to.equal("settled");
        expect(gasUsed).to.be.greaterThan(Number(GAS_OF_STORING));
        expect(balances.map(({ account, before }) => [account, before])).to.eql(
          pays ? [[SAFE, wei]] : [],
        );
      } finally {
        await server.stop();
      }
    });
  }

  it("are those of a fork for a contract that has no money, and takes none", async () => {
    const { vault } = await connectTo(anvil.url);
    const { provider } = vault.connection.ethers;
    const { contracts } = await deploySettlingVault(
      await provider.getSigner(0),
      "PricedVault",
    );
    await provider.send("anvil_setCode", [SAFE, "0x5f5ffd"]);
    await provider.send("anvil_setBalance", [SAFE, "0x0"]);
    const simulation = await vault
      .at(contracts)
      .simulateSettleAll({ from: SAFE });
    expect(simulation).to.deep.include({
      ...{ status: "settled", engine: "fork", balances: [] },
    });
  });
});

describe("a settlement of a chain without a base fee", () => {
  const anvil = useAnvil("--base-fee", "0");

  it("simulateV1 shows what a vault refunds by the price of gas", async () => {
    const { vault } = await connectTo(anvil.url);
    const deployer = await vault.connection.ethers.provider.getSigner(0);
    const { contracts } = await deploySettlingVault(deployer, "RebateVault");
    const simulation = await vault.at(contracts).simulateSettleAll();
    expect(simulation.engine).to.equal("simulateV1");
    expect(refundIn(simulation)).to.equal(REFUNDED_GAS * 10n ** 9n);
  });

  it("settleAll gives a vault that stores more if somebody pays the gas for it", async () => {
    const { vault } = await connectTo(anvil.url);
    const deployer = await vault.connection.ethers.provider.getSigner(0);
    const { contracts } = await deploySettlingVault(deployer, "PricedVault");
    const { status, preview, gasUsed } = await vault
      .at(contracts)
      .settleAll({ pollingInterval: 20 });
    expect(status).to.equal("settled");
    expect(gasUsed).to.equal(preview?.gasUsed);
  });
});
