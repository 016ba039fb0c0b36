import { expect } from "chai";
import { id } from "ethers";
import type { Contract, Signer } from "ethers";

import { settlesRound } from "../../src/assert/index.js";
import type { HardhatVault, Settlement } from "../../src/types.js";
import { differentNodes } from "../helpers/every-node.js";
import { openWorld } from "../helpers/settled-world.js";
import type { SettledWorld } from "../helpers/settled-world.js";
import { mined } from "../helpers/transactions.js";

describe("what a settlement is said to have settled", () => {
  for (const { name, start } of differentNodes) {
    describe(`on ${name}`, () => {
      let world: SettledWorld;

      before(async () => {
        world = await openWorld(start);
      });
      after(async () => {
        await world.close();
      });

      /** Mines what others send in the block before ours, or in our block before ours. */
      const settleAfter = async (
        vaultName: Parameters<SettledWorld["deploy"]>[0],
        where: "the block before" | "the same block",
        given: (contract: Contract) => Promise<void> = nothing,
      ): Promise<{
        readonly settlement: Settlement;
        readonly theirs: number | undefined;
        readonly vault: HardhatVault;
      }> => {
        const { vault, contract } = await world.deploy(vaultName);
        const other = await world.signer(1);
        await given(contract);
        let hash = "";
        const settlement = await world.settleBetween(vault, {
          beforeSending: async () => {
            hash = await sendFirst(other, contract);
            if (where === "the block before") {
              await world.mine();
            }
          },
          afterSending: async () => {
            await world.mine();
          },
        });
        return { settlement, theirs: await world.blockOf(hash), vault };
      };

      for (const vaultName of ["SilentVault", "SilentRollingVault"] as const) {
        it(`settleAll is settled by itself alone: ${vaultName}`, async () => {
          const { vault } = await world.deploy(vaultName);
          const settlement = await world.settleBetween(vault, {
            afterSending: async () => {
              await world.mine();
            },
          });
          expect(settlement).to.include({ status: "settled", reason: null });
        });

        it(`settleAll cannot tell whose settlement it was if another transaction of its block went to the vault: ${vaultName}`, async () => {
          const { settlement, theirs } = await settleAfter(
            vaultName,
            "the same block",
          );
          expect(settlement).to.include({
            status: "settled",
            blockNumber: theirs,
          });
          expect(settlement.reason).to.include(
            "whose settlement it is cannot be known",
          );
        });

        it(`settleAll is nothing-to-do, with the block, if somebody else settled one block before: ${vaultName}`, async () => {
          const { settlement, theirs } = await settleAfter(
            vaultName,
            "the block before",
          );
          expect(settlement).to.include({
            status: "nothing-to-do",
            blockNumber: Number(theirs) + 1,
          });
          expect(settlement.reason).to.include(
            `settled by somebody else, in block ${theirs}.`,
          );
        });
      }

      it("the failure of settlesRound names the transaction of a settlement that was sent and settled nothing", async () => {
        const { settlement, vault } = await settleAfter(
          "SilentVault",
          "the block before",
        );
        const failure: unknown = await settlesRound(vault, settlement).catch(
          (error: unknown) => String(error),
        );
        expect(failure).to.include(
          `but transaction ${settlement.hash} settled nothing: The round was settled by somebody else`,
        );
      });

      it("settleAll is not-settled if it settled the next round, because somebody else settled the round one block before: RollingVault", async () => {
        // Without orders, each settlement uses the same gas.
        const { settlement } = await settleAfter(
          "RollingVault",
          "the block before",
          settle,
        );
        expect(settlement).to.include({ status: "not-settled" });
        expect(settlement.reason).to.match(/MISMATCH/u);
      });

      for (const vaultName of [
        "MovingEndVault",
        "StrikeRaisingVault",
      ] as const) {
        it(`settleAll is not-settled by a vault whose round stays open: ${vaultName}`, async () => {
          const { vault } = await world.deploy(vaultName);
          const settlement = await world.settleBetween(
            vault,
            {
              afterSending: async () => {
                await world.mine();
              },
            },
            { partial: true },
          );
          expect(settlement).to.include({ status: "not-settled" });
          expect(settlement.preview).to.include({ status: "not-settled" });
        });
      }

      it("settleAll is settled by a vault that writes when it was settled into its end, and an assertion and the list of rounds have it once", async () => {
        const { vault } = await world.deploy("EndWritingVault");
        const settlement = await world.settleBetween(vault, {
          afterSending: async () => {
            await world.mine();
          },
        });
        expect(settlement).to.include({ status: "settled", reason: null });
        await settlesRound(vault, settlement);
        const rounds = await Array.fromAsync(vault.rounds());
        expect(rounds).to.have.length(1);
        expect(rounds[0]).to.include({
          settled: true,
          settledBlock: settlement.blockNumber,
        });
      });

      it("settleAll is refused by a vault that lists another keeper, with the contract's reason, and settled by the keeper", async () => {
        const [keeper, stranger] = await Promise.all([
          (await world.signer(0)).getAddress(),
          (await world.signer(1)).getAddress(),
        ]);
        const { vault } = await world.deploy("KeeperVault");
        const refused = await vault.settleAll({ from: stranger });
        expect(refused).to.include({
          status: "reverted",
          code: "VAULT_CALL_REVERTED",
          hash: null,
        });
        const error = id("NotKeeper(address)").slice(0, 10);
        expect(refused.reason).to.include(`unknown error ${error}`);
        const settled = await vault.settleAll({ from: keeper });
        expect(settled).to.include({ status: "settled", reason: null });
      });

      it("settleAll is reverted with VAULT_CALL_REVERTED by the INVALID opcode, and nothing is sent", async () => {
        const { vault } = await world.deploy("InvalidVault");
        const settlement = await vault.settleAll({ pollingInterval: 20 });
        expect(settlement).to.include({
          status: "reverted",
          code: "VAULT_CALL_REVERTED",
          hash: null,
        });
        expect(settlement.reason).to.match(/^invalid opcode, as of an assert/u);
      });
    });
  }
});

async function nothing(): Promise<void> {
  await Promise.resolve();
}

async function settle(contract: Contract): Promise<void> {
  await mined(await contract.getFunction("settleAll").send());
}

/** Sends a settlement that comes first in its block. */
async function sendFirst(signer: Signer, contract: Contract): Promise<string> {
  const gwei = 1_000_000_000n;
  const { hash } = await signer.sendTransaction({
    to: await contract.getAddress(),
    data: "0xa015aefe",
    gasLimit: 300_000n,
    maxFeePerGas: 200n * gwei,
    maxPriorityFeePerGas: 50n * gwei,
  });
  return hash;
}
