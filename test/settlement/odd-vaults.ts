import { expect } from "chai";
import type { Contract } from "ethers";

import type { HardhatVault } from "../../src/types.js";
import { STATE_OVERRIDES } from "../helpers/faulty-rpc-server.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { mined } from "../helpers/transactions.js";

const POLLING = { pollingInterval: 20 };
const ORDERS = 40;

describe("settleAll of a vault whose settlement grows, or goes on without gas", () => {
  let lane: LaneWithNode;
  let vault: HardhatVault;
  let contract: Contract;
  let token: Contract;

  before(async () => {
    lane = await openLaneWithNode();
  });
  after(async () => {
    await lane.close();
  });
  afterEach(() => {
    lane.server.show();
  });

  const open = async (name: SettlingVaultName): Promise<void> => {
    const deployer = await lane.world.provider.getSigner(4);
    const deployed = await deploySettlingVault(deployer, name, {
      orders: ORDERS,
    });
    ({ contract, token } = deployed);
    vault = await lane.connect({ vault: { contracts: deployed.contracts } });
  };
  const openOrders = async (count: number): Promise<void> => {
    await mined(await contract.getFunction("open").send(count));
  };
  /** How many of the tokens the vault still has. */
  const paid = async (): Promise<unknown> => {
    const left: unknown = await token
      .getFunction("balanceOf")
      .staticCall(await contract.getAddress());
    return 1_000_000n - BigInt(String(left));
  };

  for (const hasEngine of [true, false]) {
    it(`settleAll has gas to spare for orders that come meanwhile, by ${hasEngine ? "a simulation" : "an estimate"}`, async () => {
      if (!hasEngine) {
        lane.server.hide("eth_simulateV1", STATE_OVERRIDES);
      }
      await open("PayingVault");
      // A node does not tell what a simulation used before refunds, so that the
      // most that those can be is added, too.
      const more = hasEngine ? 12 : 6;

      const settlement = await vault.settleAll({
        ...POLLING,
        confirm: async ({ preview }) => {
          expect(preview === null).to.equal(!hasEngine);
          await openOrders(more);
          return true;
        },
      });

      expect(settlement, settlement.reason ?? "").to.include({
        status: "settled",
      });
      expect(await paid()).to.equal(10n * BigInt(ORDERS + more));
    });
  }

  it("settleAll gives enough gas to a contract that goes on when its own calls run out", async () => {
    await open("SwallowingVault");

    const settlement = await vault.settleAll(POLLING);

    expect(settlement).to.include({ status: "settled" });
    expect(settlement.preview?.differences).to.deep.equal([]);
    expect(await paid()).to.equal(10n * BigInt(ORDERS));
  });

  it("settleAll is reverted with VAULT_OUT_OF_GAS if it needs more than it was given", async () => {
    await open("PayingVault");

    const settlement = await vault.settleAll({
      ...POLLING,
      confirm: async () => {
        await openOrders(3 * ORDERS);
        return true;
      },
    });

    expect(settlement).to.include({
      status: "reverted",
      code: "VAULT_OUT_OF_GAS",
    });
    expect(settlement.reason)
      .to.match(/^out of gas: it uses all of the \d+ that it was given/u)
      .and.include("gasMultiplier");
  });
});
