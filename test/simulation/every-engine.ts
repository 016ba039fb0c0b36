import { expect } from "chai";
import { getAddress } from "ethers";

import { describeEngines } from "../helpers/engine-stage.js";

describe("what every engine sees, lists and notes", () => {
  describeEngines((engine, stage) => {
    it(`${engine} sees the block's own base fee, or notes that the node ignores it`, async () => {
      const { vault } = await stage.deploy("FeeVault");
      const { changes, notes } = await stage.simulate(vault);
      const predicted = changes.find(({ field }) => field === "settledPrice");
      await vault.settleAll({ pollingInterval: 20 });
      const { settledPrice } = await vault.getLatestRoundInfo();
      const isSeen = predicted?.after === settledPrice;
      expect(isSeen, "anvil ignores it in eth_simulateV1 alone").to.equal(
        engine !== "simulateV1",
      );
      expect(notes.join(" ").includes("base fee of 0 wei")).to.equal(!isSeen);
    });

    it(`${engine} sees native currency move between any accounts`, async () => {
      const { vault, address: from } = await stage.deploy("NativeVault");
      const sender = await stage.accountOf(4);
      const { transfers } = await stage.simulate(vault, { from: sender });
      const to = (tail: string): string =>
        getAddress(`0x${tail.padStart(40, "0")}`);
      expect(transfers).to.deep.equal(
        [
          { to: sender, amount: 1_000n },
          { to: to("beef0001"), amount: 3n * 10n ** 18n },
          { to: to("beef0002"), amount: 5n },
        ].map((moved) => ({ token: "native", from, ...moved })),
      );
    });

    for (const name of ["PurseVault", "GivingVault"] as const) {
      it(`${engine} lists what a contract that destroys itself gives away, in ${name}`, async () => {
        const { vault } = await stage.deploy(name);
        const { transfers, notes } = await stage.simulate(vault);
        expect(transfers?.map(({ amount }) => amount)).to.deep.equal([7n, 7n]);
        expect(notes.join(" ")).not.to.match(/transfers|Transfers/u);
      });
    }

    it(`${engine} has one note of its own limits, with a link, under a simulation`, async () => {
      const { vault } = await stage.deploy("HistoryVault");
      const { status, notes } = await stage.simulate(vault);
      expect(status).to.equal("settled");
      const linked = notes.filter((note) => note.includes("docs/"));
      expect(linked).to.deep.equal(notes.slice(-1));
      // In process, the chain answers as the simulation does.
      expect(linked[0]?.includes("EIP-2935")).to.equal(engine !== "in-process");
    });

    it(`${engine} predicts what a vault does that wants a base fee, or says that it cannot`, async () => {
      const { vault } = await stage.deploy("BaseFeeVault");
      const outcome = await stage
        .simulate(vault)
        .then(({ status, reason }) => `${status}: ${reason ?? ""}`, String);
      expect(outcome).to.match(
        {
          // anvil has none in eth_simulateV1, and Hardhat's simulator none in eth_call.
          simulateV1: /^not-settled: .* accepts a call .* not known/u,
          fork: /the node accepts the call, and Hardhat's simulator refuses it/u,
          "in-process": /^settled: $/u,
        }[engine],
      );
    });

    it(`${engine} predicts reverted with VAULT_CALL_REVERTED for a vault with an assert of before Solidity 0.8`, async () => {
      const { vault } = await stage.deploy("InvalidVault");
      const { status, code, reason } = await stage.simulate(vault);
      expect([status, code]).to.deep.equal(["reverted", "VAULT_CALL_REVERTED"]);
      expect(reason).to.match(/^invalid opcode, as of an assert/u);
    });

    it(`${engine} lists no payment that fails inside`, async () => {
      const { vault } = await stage.deploy("FailingPaymentVault");
      const { status, transfers, notes } = await stage.simulate(vault);
      expect({ status, transfers }).to.deep.equal({
        status: "settled",
        transfers: [],
      });
      expect(notes.join(" ")).not.to.include("transfers is not right");
    });

    it(`${engine} predicts settled for a vault that writes when it was settled into its end`, async () => {
      const { vault } = await stage.deploy("EndWritingVault");
      const { status, changes } = await stage.simulate(vault);
      expect(status).to.equal("settled");
      expect(changes.map(({ field }) => field)).to.include("endTime");
    });

    it(`${engine} lists no change of what only the clock moves`, async () => {
      const { vault } = await stage.deploy("TickingVault");
      const { changes } = await stage.simulate(vault, { atTime: "+1h" });
      const readings = changes.map(({ reading }) => reading);
      expect(readings).to.include("round").and.not.include("volume");
    });

    it(`${engine} leaves the balance of a sender without money as it is, and notes the fee that it cannot pay`, async () => {
      const { vault } = await stage.deploy("SilentVault");
      const from = getAddress(`0x${"00".repeat(18)}beef`);
      const set =
        engine === "in-process" ? "hardhat_setBalance" : "anvil_setBalance";
      await stage.send(set, from, "0x3e8");
      const { status, balances, notes } = await stage.simulate(vault, { from });
      expect({ status, balances }).to.deep.equal({
        status: "settled",
        balances: [],
      });
      expect(notes.join(" ")).to.match(
        /cannot pay for gas: it has 1000 wei, and the fee is \d+ wei/u,
      );
    });

    it(`${engine} notes for a sender with code, not for one that delegates, that another account sends the transaction`, async () => {
      const { vault } = await stage.deploy("OriginVault");
      const [safe, delegating] = ["5afe", "7702"].map((tail) =>
        getAddress(`0x${tail.padStart(40, "0")}`),
      );
      const set = engine === "in-process" ? "hardhat_setCode" : "anvil_setCode";
      await stage.send(set, safe, "0x00");
      await stage.send(set, delegating, `0xef0100${"11".repeat(20)}`);
      for (const [from, isNoted] of [
        [safe, true],
        [delegating, false],
      ] as const) {
        const { status, notes } = await stage.simulate(vault, { from });
        expect(status).to.equal("settled");
        expect(notes.join(" ").includes("tx.origin"), from).to.equal(isNoted);
      }
    });
  });
});
