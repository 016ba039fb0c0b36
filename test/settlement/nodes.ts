import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";

import { expect } from "chai";
import { Wallet } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { createTestHre } from "../helpers/hre.js";
import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { SENDS } from "../helpers/keeper.js";
import { itSettlesAsEverywhere } from "../helpers/settlement-cases.js";
import { DEV_KEYS, SETTLED_AMOUNT, SETTLED_PRICE } from "../helpers/world.js";

const POLLING = { pollingInterval: 20 };

for (const [nodeName, startNode, engine] of [
  ["anvil", startAnvil, "simulateV1"],
  ["hardhat node", startHardhatNode, "fork"],
] as const) {
  describe(`settleAll on ${nodeName}`, () => {
    let keeper: KeeperWithNode;
    let restore: () => Promise<void>;

    before(async () => {
      keeper = await startKeeper(async () => await startNode());
      restore = await keeper.chain.checkpoint();
    });
    beforeEach(async () => {
      keeper.server.reset();
      await keeper.removeJournals();
    });
    afterEach(async () => {
      // What still waits would outlive the return to the checkpoint.
      await keeper.chain.mine();
      await restore();
      keeper.server.show();
      await automine(true);
    });
    after(async () => {
      await keeper.close();
    });
    const automine = async (isOn: boolean): Promise<void> => {
      await keeper.chain.provider.send("evm_setAutomine", [isOn]);
    };

    itSettlesAsEverywhere(() => ({
      ...keeper.chain,
      settle: async (options) => await keeper.vault.settleAll(options),
      refuseWith: async (data) => {
        await keeper.chain.mocks.fail("settleAll", { data });
      },
      stopMining: async () => {
        await automine(false);
        const second = { method: "eth_getTransactionReceipt", occurrence: 1 };
        keeper.server.before(second, async () => {
          await Promise.resolve();
          endDeadlines();
        });
      },
      beforeSending: (act) => {
        for (const method of SENDS) {
          keeper.server.before({ method, occurrence: 0 }, act);
        }
      },
      settlementCount: async () => {
        const settlers = await keeper.chain.settlers();
        return settlers.filter((one) => one === keeper.settler).length;
      },
    }));

    for (const [name, accounts] of [
      ["an array of keys", [DEV_KEYS[0], DEV_KEYS[1]]],
      ["remote accounts", "remote"],
    ] satisfies ReadonlyArray<
      readonly [string, HttpNetworkUserConfig["accounts"]]
    >) {
      it(`settles as previewed with ${name}, by a journal without a key that only its owner reads`, async () => {
        const vault = await keeper.connect({ accounts });
        let mode = 0;
        const journal = keeper.journalWhenSent(async () => {
          ({ mode } = await stat(keeper.journal));
        });
        const settlement = await vault.settleAll(POLLING);

        const { hash, gasUsed, blockNumber, after } = settlement;
        const { preview, differences } = settlement;
        const receipt = await keeper.chain.provider.getTransactionReceipt(
          hash ?? "",
        );
        expect(settlement).to.include({ status: "settled" });
        expect(receipt).to.include({ gasUsed, blockNumber });
        expect(after).to.include({
          settledPrice: SETTLED_PRICE,
          settledAmount: SETTLED_AMOUNT,
        });
        expect(preview).to.include({ status: "settled", engine });
        expect(differences).to.deep.equal([]);
        expect(await keeper.chain.settlers()).to.deep.equal([
          new Wallet(DEV_KEYS[0]).address,
        ]);
        expect(existsSync(keeper.journal)).to.equal(false);
        const text = await journal;
        expect(text).to.not.include(DEV_KEYS[0].slice(2));
        if (accounts !== "remote") {
          expect(text).to.include(hash);
        }
        if (process.platform !== "win32") {
          expect(mode & 0o777).to.equal(0o600);
        }
      });
    }

    if (nodeName !== "anvil") {
      return;
    }

    it("settles once if two processes of a project settle at once", async () => {
      const both = [await keeper.connect({}), await keeper.connect({})];
      const ends = await Promise.all(
        both.map(async (vault) => await vault.settleAll(POLLING)),
      );
      const statuses = ends.map(({ status }) => status);
      expect(statuses.filter((one) => one === "settled")).to.have.length(1);
      expect(await keeper.chain.settlers()).to.deep.equal([keeper.settler]);
    });
  });
}

describe("settleAll in process", () => {
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;
  let asked: Array<{ method: string; params: readonly unknown[] }>;
  let act: ((method: string, occurrence: number) => unknown) | undefined;

  beforeEach(async () => {
    const hre = await createTestHre();
    connection = await hre.network.create();
    mocks = await connection.vault.deployMocks();
    asked = [];
    act = undefined;
    const { provider } = connection;
    const request = provider.request.bind(provider);
    provider.request = async (args): Promise<unknown> => {
      const { method, params } = args;
      const occurrence = asked.filter((one) => one.method === method).length;
      // A copy: Hardhat fills in what is missing in the very object.
      const copy: unknown = structuredClone(params);
      asked.push({ method, params: Array.isArray(copy) ? copy : [] });
      await act?.(method, occurrence);
      return await request(args);
    };
  });
  afterEach(async () => {
    await connection.close();
  });

  itSettlesAsEverywhere(() => ({
    settle: async (options) => await connection.vault.settleAll(options),
    settleByOther: async () => {
      const other = await connection.ethers.provider.getSigner(1);
      await mocks.contracts.vault.connect(other).settleAll();
    },
    refuseWith: async (data) => {
      await mocks.fail("settleAll", { data });
    },
    stopMining: async () => {
      await connection.provider.request({
        ...{ method: "evm_setAutomine", params: [false] },
      });
      act = (method, occurrence) => {
        if (method === "eth_getTransactionReceipt" && occurrence === 1) {
          endDeadlines();
        }
      };
    },
    beforeSending: (acted) => {
      act = async (method) => {
        // The simulation sends some, too, and undoes them.
        const isSigned = asked.some(
          (one) => one.method === "eth_getTransactionCount",
        );
        if (method === "eth_sendTransaction" && isSigned) {
          act = undefined;
          await acted();
        }
      };
    },
    settlementCount: async () => {
      const { address } = await connection.ethers.provider.getSigner(0);
      const all = await mocks.settlements();
      return all.filter(({ caller }) => caller === address).length;
    },
  }));

  it("simulates on the network itself before it asks, and undoes that", async () => {
    const { vault, ethers } = connection;
    const before = await ethers.provider.getBlockNumber();
    const seen: unknown[] = [];
    await vault.settleAll({
      confirm: async ({ preview }) => {
        seen.push(preview?.engine, await ethers.provider.getBlockNumber());
        return true;
      },
    });
    expect(seen).to.deep.equal(["in-process", before]);
  });

  it("leaves fees to Hardhat, and asks for the pending nonce alone", async () => {
    await connection.vault.settleAll();
    const sent = asked.findLast(
      ({ method }) => method === "eth_sendTransaction",
    );
    const fields = Object.keys(fieldsOf(sent?.params[0])).sort();
    expect(fields.join()).to.equal("chainId,data,from,gas,nonce,to,value");
    const tags = asked
      .filter(({ method }) => method === "eth_getTransactionCount")
      .map(({ params: [, tag] }) => tag);
    expect(tags).to.deep.equal(["pending"]);
    const methods = asked.map(({ method }) => method);
    expect(methods).not.to.include("eth_signTransaction");
  });

  it("keeps no journal: VAULT_NOTHING_TO_RESUME", async () => {
    await connection.vault.settleAll();
    const { code, reason } = await connection.vault.settleAll({ resume: true });
    expect(code).to.equal("VAULT_NOTHING_TO_RESUME");
    expect(reason).to.include("in process there is no journal");
  });

  it("takes a from that is an impersonated account", async () => {
    const { vault, provider } = connection;
    const from = "0x00000000000000000000000000000000000A11cE";
    for (const [method, ...params] of [
      ["hardhat_impersonateAccount", from],
      ["hardhat_setBalance", from, "0xde0b6b3a7640000"],
    ] as const) {
      await provider.request({ method, params });
    }
    expect(await vault.settleAll({ from })).to.include({ status: "settled" });
    const [settlement] = await mocks.settlements();
    expect(settlement?.caller).to.equal(from);
  });
});
