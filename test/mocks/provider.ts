import { expect } from "chai";

import type { ContractAddresses } from "../../src/client/addresses.js";
import { VaultClient } from "../../src/client/index.js";
import { connectMocks, deployMocks } from "../../src/mocks/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts as places } from "../helpers/distinct-state.js";
import { everyNode } from "../helpers/every-node.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { createTestHre } from "../helpers/hre.js";
import { recordCalls } from "../helpers/recording-provider.js";

for (const { name, start } of everyNode) {
  describe(`mocks - over the bare provider of ${name}`, () => {
    let provider: Eip1193Provider;
    let stop: () => Promise<void>;

    before(async () => {
      const node = await start();
      if (node.url === undefined) {
        const hre = await createTestHre();
        const connection = await hre.network.create();
        ({ provider } = connection);
        stop = async () => {
          await connection.close();
        };
      } else {
        provider = fetchProvider(node.url);
        stop = async () => {
          await node.stop();
        };
      }
    });

    after(async () => {
      await stop();
    });

    it("should deploy a scenario, and script and read it", async () => {
      const mocks = await deployMocks(provider, { scenario: "expired-round" });
      expect(mocks.scenario).to.equal("expired-round");
      expect(mocks.vault).to.be.instanceOf(VaultClient);
      await mocks.set({ round: { APY: 7n } });
      await mocks.set({ orders: { 5: { state: 2 } } });
      await mocks.fail("queryVolume", "closed");
      expect(await mocks.vault.getLatestRoundInfo()).to.include({
        APY: 7n,
        settled: false,
      });
      const { volume } = await mocks.vault.snapshot();
      expect(volume).to.have.nested.property(
        "error.code",
        "VAULT_CALL_REVERTED",
      );
      const listed = [];
      for await (const order of mocks.vault.orders({ firstId: 4, lastId: 5 })) {
        listed.push(order);
      }
      expect(
        listed.map((order): unknown => Reflect.get(order, "state")),
      ).to.deep.equal([0, 2]);
      await mocks.succeed("queryVolume");
      expect(await mocks.contracts.vault.queryVolume()).to.equal(
        420n * 10n ** 18n,
      );
    });

    it("should find mocks again by their addresses", async () => {
      const { addresses } = await deployMocks(provider);
      const again = await connectMocks(provider, addresses);
      await again.set({ volume: 9n });
      expect(await new VaultClient(provider, addresses).queryVolume()).to.equal(
        9n,
      );
      const client = await connectMocks(new VaultClient(provider, addresses));
      expect(await client.vault.queryVolume()).to.equal(9n);
    });

    it("should place them at given addresses, again and again", async () => {
      for (const volume of [3n, 4n]) {
        const mocks = await deployMocks(provider, {
          at: places,
          overrides: { volume },
        });
        expect(mocks.addresses).to.deep.equal(places);
        expect(await mocks.settlements()).to.deep.equal([]);
        expect(await new VaultClient(provider, places).queryVolume()).to.equal(
          volume,
        );
      }
    });

    it("should refuse what it cannot do, naming it", async () => {
      const { vault: _vault, ...others } = places;
      const incomplete: ContractAddresses = others;
      for (const [attempt, code] of [
        [
          // @ts-expect-error -- one address is missing
          async () => await deployMocks(provider, { at: incomplete }),
          "VAULT_CONTRACT_NOT_CONFIGURED",
        ],
        [
          async () => await connectMocks(provider, incomplete),
          "VAULT_CONTRACT_NOT_CONFIGURED",
        ],
        [
          async () =>
            await connectMocks(provider, {
              ...places,
              vault: "0x00000000000000000000000000000000000000aa",
            }),
          "VAULT_NOT_A_MOCK",
        ],
      ] as const) {
        await expectVaultError(attempt, code);
      }
    });
  });
}

describe("mocks - over hre.vault", () => {
  it("should connect to mocks of the connection that it opens", async () => {
    const hre = await createTestHre();
    await hre.vault.deployMocks();
    const mocks = await connectMocks(hre.vault);
    await mocks.set({ volume: 5n });
    expect(await hre.vault.queryVolume()).to.equal(5n);
    expect(await mocks.vault.queryVolume()).to.equal(5n);
  });

  it("deployMocks() fails with VAULT_MOCK_SCRIPT_FAILED when the node reverts a script", async () => {
    const hre = await createTestHre();
    const { provider } = await hre.network.create();
    const reverting = recordCalls(provider, ({ method }) => {
      if (method === "eth_sendTransaction") {
        throw Object.assign(new Error("execution reverted"), { code: 3 });
      }
    });
    const { details } = await expectVaultError(
      deployMocks(reverting),
      "VAULT_MOCK_SCRIPT_FAILED",
    );
    expect(details["problem"]).to.equal("no reason given");
  });
});
