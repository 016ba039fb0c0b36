import { expect } from "chai";

import type { ContractAddresses } from "../../src/client/addresses.js";
import { VaultClient } from "../../src/client/index.js";
import { connectMocks, deployMocks } from "../../src/mocks/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts as places } from "../helpers/distinct-state.js";
import { everyNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
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

    it("should find mocks again by their addresses", async () => {
      const deployed = await deployMocks(provider, {
        scenario: "expired-round",
      });
      expect(deployed.scenario).to.equal("expired-round");
      expect(deployed.vault).to.be.instanceOf(VaultClient);
      const { addresses } = deployed;
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

  it("deployMocks() fails with VAULT_MOCK_SCRIPT_FAILED if the node reverts a script, or mines it and it fails", async () => {
    const hre = await createTestHre();
    const { provider } = await hre.network.create();
    const reverting = recordCalls(provider, ({ method }) => {
      if (method === "eth_sendTransaction") {
        throw Object.assign(new Error("execution reverted"), { code: 3 });
      }
    });
    const failing: Eip1193Provider = {
      async request(call) {
        const result: unknown = await provider.request(call);
        return call.method === "eth_getTransactionReceipt"
          ? { ...fieldsOf(result), status: "0x0" }
          : result;
      },
    };
    for (const [node, problem] of [
      [reverting, "no reason given"],
      [failing, "the transaction was mined and failed"],
    ] as const) {
      const { details } = await expectVaultError(
        deployMocks(node),
        "VAULT_MOCK_SCRIPT_FAILED",
      );
      expect(details["problem"]).to.equal(problem);
    }
  });
});
