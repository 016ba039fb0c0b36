import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";

import { expect } from "chai";
import { Wallet } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/mocks/index.js";
import { startAnvil } from "../helpers/anvil.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { createTestHre } from "../helpers/hre.js";
import { itSettlesAsEverywhere } from "../helpers/settlement-cases.js";
import type { SettlementChain } from "../helpers/settlement-cases.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { SENDS } from "../helpers/settlement-stage.js";
import { mined } from "../helpers/transactions.js";
import {
  DEV_KEYS,
  DEV_MNEMONIC,
  SETTLED_AMOUNT,
  SETTLED_PRICE,
} from "../helpers/world.js";

const SETTLE = "0xa015aefe";

for (const [nodeName, startNode, engine] of [
  ["anvil", startAnvil, "simulateV1"],
  ["hardhat node", startHardhatNode, "fork"],
] as const) {
  describe(`settleAll on ${nodeName}`, () => {
    let lane: LaneWithNode;
    let restore: () => Promise<void>;

    before(async () => {
      lane = await openLaneWithNode(async () => await startNode());
      restore = await lane.world.checkpoint();
    });
    beforeEach(async () => {
      lane.server.reset();
      await lane.removeJournals();
    });
    afterEach(async () => {
      // What still waits would outlive the return to the checkpoint.
      await lane.world.mine();
      await restore();
      await lane.world.provider.send("evm_setAutomine", [true]);
    });
    after(async () => {
      await lane.close();
    });

    itSettlesAsEverywhere((): SettlementChain => ({
      ...lane.world,
      settle: async (options) => await lane.vault.settleAll(options),
      refuseWith: async (data) => {
        await mined(await lane.world.vault.setRevert(SETTLE, data));
      },
      stopMining: async () => {
        await lane.world.provider.send("evm_setAutomine", [false]);
        lane.server.before(
          { method: "eth_getTransactionReceipt", occurrence: 1 },
          async () => {
            await Promise.resolve();
            endDeadlines();
          },
        );
      },
      beforeSending: (act) => {
        for (const method of SENDS) {
          lane.server.before({ method, occurrence: 0 }, act);
        }
      },
      settlementCount: async () => {
        const settlers = await lane.world.settlers();
        return settlers.filter((one) => one === lane.settler).length;
      },
    }));

    for (const [name, accounts] of [
      ["an array of keys", [DEV_KEYS[0], DEV_KEYS[1]]],
      ["a mnemonic", { mnemonic: DEV_MNEMONIC }],
      ["remote accounts", "remote"],
    ] satisfies ReadonlyArray<
      readonly [string, HttpNetworkUserConfig["accounts"]]
    >) {
      it(`settleAll settles with ${name}, and leaves a finished journal without a key that only its owner reads`, async () => {
        const vault = await lane.connect({ accounts });

        const { status, hash, gasUsed, blockNumber, after, preview } =
          await vault.settleAll({ pollingInterval: 20 });

        const receipt = await lane.world.provider.getTransactionReceipt(
          hash ?? "",
        );
        expect(status).to.equal("settled");
        expect([gasUsed, blockNumber]).to.deep.equal([
          receipt?.gasUsed,
          receipt?.blockNumber,
        ]);
        expect(after).to.include({
          settledPrice: SETTLED_PRICE,
          settledAmount: SETTLED_AMOUNT,
        });
        expect(preview).to.deep.include({
          status: "settled",
          engine,
          differences: [],
        });
        expect(
          preview?.changes.map(({ reading, field }) => `${reading}.${field}`),
        ).to.include.members([
          "round.settledPrice",
          "round.settledAmount",
          "round.settled",
        ]);
        expect(await lane.world.settlers()).to.deep.equal([
          new Wallet(DEV_KEYS[0]).address,
        ]);
        const text = await readFile(lane.finishedJournal, "utf8");
        expect(existsSync(lane.journal)).to.equal(false);
        expect(text).to.include(hash).and.not.include(DEV_KEYS[0].slice(2));
        expect((await stat(lane.finishedJournal)).mode & 0o777).to.equal(0o600);
      });
    }
  });
}

describe("settleAll in process", () => {
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;
  let asked: Array<{ method: string; params: readonly unknown[] }>;
  let act: (method: string, occurrence: number) => Promise<void>;

  beforeEach(async () => {
    const hre = await createTestHre();
    connection = await hre.network.create();
    mocks = await connection.vault.deployMocks();
    asked = [];
    act = async () => {
      await Promise.resolve();
    };
    const { provider } = connection;
    const request = provider.request.bind(provider);
    provider.request = async (args): Promise<unknown> => {
      const { method, params } = args;
      const occurrence = asked.filter((one) => one.method === method).length;
      // A copy: Hardhat fills in what is missing in the very object.
      const copy: unknown = structuredClone(params);
      asked.push({ method, params: Array.isArray(copy) ? copy : [] });
      await act(method, occurrence);
      return await request(args);
    };
  });
  afterEach(async () => {
    await connection.close();
  });

  itSettlesAsEverywhere((): SettlementChain => ({
    settle: async (options) => await connection.vault.settleAll(options),
    settleByOther: async () => {
      const other = await connection.ethers.provider.getSigner(1);
      await mocks.contracts.vault.connect(other).settleAll();
    },
    openNextRound: async () => {
      await mocks.startNextRound();
    },
    refuseWith: async (data) => {
      await mocks.fail("settleAll", { data });
    },
    stopMining: async () => {
      await connection.provider.request({
        method: "evm_setAutomine",
        params: [false],
      });
      act = async (method, occurrence) => {
        if (method === "eth_getTransactionReceipt" && occurrence === 1) {
          endDeadlines();
        }
        await Promise.resolve();
      };
    },
    beforeSending: (acted) => {
      act = async (method) => {
        // The simulation sends some, too, and undoes them.
        const isSigned = asked.some(
          (one) => one.method === "eth_getTransactionCount",
        );
        if (method === "eth_sendTransaction" && isSigned) {
          act = async () => {
            await Promise.resolve();
          };
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

  it("settleAll simulates on the network itself before it asks, and undoes that", async () => {
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

  it("settleAll leaves fees to Hardhat, asks for the pending nonce alone, and keeps no journal", async () => {
    await connection.vault.settleAll();

    const [sent] =
      asked.findLast(({ method }) => method === "eth_sendTransaction")
        ?.params ?? [];
    expect(Object.keys(fieldsOf(sent)).sort().join()).to.equal(
      "chainId,data,from,gas,nonce,to,value",
    );
    expect(
      asked
        .filter(({ method }) => method === "eth_getTransactionCount")
        .map(({ params: [, tag] }) => tag),
    ).to.deep.equal(["pending"]);
    expect(asked.map(({ method }) => method)).not.to.include(
      "eth_signTransaction",
    );
    expect(await connection.vault.settleAll({ resume: true })).to.include({
      status: "refused",
      code: "VAULT_NOTHING_TO_RESUME",
    });
  });

  it("settleAll takes a signer, an address or an impersonated account", async () => {
    const { vault, ethers, provider } = connection;
    const [, second, third] = await ethers.getSigners();
    const stranger = "0x00000000000000000000000000000000000A11cE";
    for (const [method, ...params] of [
      ["hardhat_impersonateAccount", stranger],
      ["hardhat_setBalance", stranger, "0xde0b6b3a7640000"],
    ] as const) {
      await provider.request({ method, params });
    }

    for (const from of [second, third?.address, stranger]) {
      const { status, reason } = await vault.settleAll({ from });
      expect(status, String(reason)).to.equal("settled");
      await mocks.startNextRound();
    }

    expect((await mocks.settlements()).map(({ caller }) => caller)).to.eql([
      second?.address,
      third?.address,
      stranger,
    ]);
  });
});
