import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { connectMocks, deployMocks } from "../../src/mocks/index.js";
import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts as places } from "../helpers/distinct-state.js";
import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { generatedOrder } from "../helpers/generated-order.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { connectTo, createTestHre } from "../helpers/hre.js";

for (const { name, start } of differentNodes) {
  describe(`mocks - scripting on ${name}`, () => {
    let node: TestNode;
    let vault: HardhatVault;
    let provider: Eip1193Provider;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      ({ vault } = await connectTo(node.url));
      provider =
        node.url === undefined ? vault.provider : fetchProvider(node.url);
    });

    beforeEach(async () => {
      mocks = await vault.deployMocks();
    });

    after(async () => {
      await node.stop();
    });

    it("deployMocks() over a bare EIP-1193 provider deploys a scenario that connectMocks() scripts, too", async () => {
      const deployed = await deployMocks(provider, {
        scenario: "expired-round",
      });
      expect(deployed.scenario).to.equal("expired-round");
      const client = deployed.vault;
      expect(client).to.be.instanceOf(VaultClient);
      const again = await connectMocks(provider, deployed.addresses);
      await again.set({ round: { APY: 7n }, orders: { 5: { state: 2 } } });
      await again.fail("queryVolume", "closed");
      const { round } = await client.snapshot();
      expect(round).to.include({ APY: 7n, settled: false });
      expect((await client.getOrderInfo(5)).state).to.equal(2);
      await expectVaultError(client.queryVolume(), "VAULT_CALL_REVERTED");
      await again.succeed("queryVolume");
      expect(await again.contracts.vault.queryVolume()).to.equal(
        420n * 10n ** 18n,
      );
    });

    it("deployMocks({ at }) places new mocks at the addresses each time, and resets their storage", async () => {
      for (const volume of [3n, 4n]) {
        for (const address of Object.values(places)) {
          const params = [address, "0x0", `0x${"ff".repeat(32)}`];
          await provider.request({ method: "hardhat_setStorageAt", params });
        }
        const placed = await deployMocks(provider, {
          at: places,
          overrides: { volume },
        });
        expect(placed.addresses).to.deep.equal(places);
        expect(await placed.settlements()).to.deep.equal([]);
        expect(await placed.vault.queryVolume()).to.equal(volume);
      }
    });

    it("set() adds more orders than a transaction holds", async () => {
      const orders = Object.fromEntries(
        Array.from({ length: 90 }, (_, index) => [
          index * 7,
          generatedOrder(BigInt(index)),
        ]),
      );
      await mocks.set({ orders });
      for (const orderID of [0, 7, 45 * 7, 89 * 7]) {
        expect(await vault.getOrderInfo(orderID)).to.deep.equal(
          orders[orderID],
        );
      }
    });

    it("set() loses no change when two handles script at the same time", async () => {
      const other = await connectMocks(vault);
      for (let value = 1n; value <= 5n; value += 1n) {
        await Promise.all([
          mocks.set({ round: { strikePrice: value } }),
          other.set({ round: { APY: value } }),
          mocks.set({ round: { minDeposit: value }, volume: value }),
          other.set({ volume: 9n }),
        ]);
        expect(await vault.getLatestRoundInfo()).to.include({
          strikePrice: value,
          APY: value,
          minDeposit: value,
        });
        expect(await vault.queryVolume()).to.equal(9n);
      }
    });
  });
}

describe("mocks - scripting", () => {
  let vault: HardhatVault;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
  });

  it("deployMocks() fails with VAULT_MOCK_SCRIPT_FAILED when the node reverts a script or mines it as failed", async () => {
    for (const [method, answer, problem] of [
      [
        "eth_sendTransaction",
        () => {
          throw Object.assign(new Error("execution reverted"), { code: 3 });
        },
        /no reason given/u,
      ],
      [
        "eth_getTransactionReceipt",
        (receipt: unknown) => ({ ...fieldsOf(receipt), status: "0x0" }),
        /^transaction 0x\w{64} failed$/u,
      ],
    ] as const) {
      const provider: Eip1193Provider = {
        request: async (call) => {
          const answered: unknown = await vault.provider.request(call);
          return call.method === method ? answer(answered) : answered;
        },
      };
      const { details } = await expectVaultError(
        deployMocks(provider),
        "VAULT_MOCK_SCRIPT_FAILED",
      );
      expect(details["problem"]).to.match(problem);
    }
  });
});
