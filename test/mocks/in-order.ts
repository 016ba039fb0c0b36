import { expect } from "chai";

import { connectMocks } from "../../src/mocks/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import type { MockVaultHandle } from "../../src/types.js";
import { everyNode } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { connectTo } from "../helpers/hre.js";

describe("mocks - scripts at the same time by operations of their own", () => {
  it("should be one after the other, whichever way they ask the chain", async () => {
    const provider = { request: async () => await Promise.resolve("0x") };
    const rpc = new RpcClient(provider, "testnet");
    const done: string[] = [];
    await Promise.all(
      [rpc, rpc.withOptions({}), rpc.withOptions({})].map(
        async (client, index) =>
          await client.inOrder(async () => {
            done.push(`begin ${index}`);
            await new Promise((resolve) => setImmediate(resolve));
            done.push(`end ${index}`);
          }),
      ),
    );
    expect(done).to.deep.equal(
      [0, 1, 2].flatMap((index) => [`begin ${index}`, `end ${index}`]),
    );
  });
});

for (const { name, start } of everyNode) {
  describe(`mocks - scripts at the same time on ${name}`, () => {
    let node: TestNode;
    let vault: HardhatVault;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      ({ vault } = await connectTo(node.url));
      mocks = await vault.deployMocks();
    });

    after(async () => {
      await node.stop();
    });

    it("should lose none of several changes to one round, by two handles", async () => {
      const other = await connectMocks(vault);
      for (let value = 1n; value <= 5n; value += 1n) {
        await Promise.all([
          mocks.set({ round: { strikePrice: value } }),
          other.set({ round: { APY: value } }),
          mocks.set({ round: { minDeposit: value } }),
        ]);
        expect(await vault.getLatestRoundInfo()).to.include({
          strikePrice: value,
          APY: value,
          minDeposit: value,
        });
      }
    });

    it("should do them in the order in which they were asked for", async () => {
      const values = Array.from({ length: 10 }, (_, index) => BigInt(index));
      await Promise.all(values.map((value) => mocks.set({ volume: value })));
      expect(await vault.queryVolume()).to.equal(9n);
    });

    it("should put mocks in the place of several contracts", async () => {
      await Promise.all([
        vault.mockAt("vaultFactory", { overrides: { minXMargin: 42n } }),
        vault.mockAt("vault", { overrides: { volume: 41n } }),
        vault.mockAt("trading"),
        vault.mockAt("underlyingAsset"),
      ]);
      const { volume, minXMargin } = await vault.snapshot();
      expect({ volume, minXMargin }).to.deep.equal({
        volume: 41n,
        minXMargin: 42n,
      });
    });

    it("should go on after one that failed", async () => {
      const failing = mocks
        .set({ volume: -1n })
        .catch((error: unknown) => error);
      await mocks.set({ volume: 3n });
      expect(await failing).to.be.instanceOf(Error);
      expect(await vault.queryVolume()).to.equal(3n);
    });
  });
}
