import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";

import { expect } from "chai";
import { Transaction, Wallet } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { STATE_OVERRIDES } from "../helpers/faulty-rpc-server.js";
import { fieldsOf } from "../helpers/fields.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { createTestHre } from "../helpers/hre.js";
import { itSettlesAsEverywhere } from "../helpers/settlement-cases.js";
import type { AnyKeeper } from "../helpers/settlement-cases.js";
import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { SENDS } from "../helpers/keeper.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
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
    let keeper: KeeperWithNode;
    let restore: () => Promise<void>;

    before(async () => {
      keeper = await startKeeper(async () => await startNode());
      restore = await keeper.world.checkpoint();
    });
    beforeEach(async () => {
      keeper.server.reset();
      await keeper.removeJournals();
    });
    afterEach(async () => {
      // What still waits would outlive the return to the checkpoint.
      await keeper.world.mine();
      await restore();
      keeper.server.show();
      await keeper.world.provider.send("evm_setAutomine", [true]);
    });
    after(async () => {
      await keeper.close();
    });

    itSettlesAsEverywhere((): AnyKeeper => ({
      ...keeper.world,
      settle: async (options) => await keeper.vault.settleAll(options),
      refuseWith: async (data) => {
        await mined(await keeper.world.vault.setRevert(SETTLE, data));
      },
      stopMining: async () => {
        await keeper.world.provider.send("evm_setAutomine", [false]);
        keeper.server.before(
          { method: "eth_getTransactionReceipt", occurrence: 1 },
          async () => {
            await Promise.resolve();
            endDeadlines();
          },
        );
      },
      beforeSending: (act) => {
        for (const method of SENDS) {
          keeper.server.before({ method, occurrence: 0 }, act);
        }
      },
      settlementCount: async () => {
        const settlers = await keeper.world.settlers();
        return settlers.filter((one) => one === keeper.settler).length;
      },
    }));

    for (const [name, accounts] of [
      ["an array of keys", [DEV_KEYS[0], DEV_KEYS[1]]],
      ["remote accounts", "remote"],
    ] satisfies ReadonlyArray<
      readonly [string, HttpNetworkUserConfig["accounts"]]
    >) {
      it(`settleAll settles with ${name}, and leaves a finished journal without a key that only its owner reads`, async () => {
        const vault = await keeper.connect({ accounts });

        const { status, hash, gasUsed, blockNumber, after, preview } =
          await vault.settleAll({ pollingInterval: 20 });

        const receipt = await keeper.world.provider.getTransactionReceipt(
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
        expect(await keeper.world.settlers()).to.deep.equal([
          new Wallet(DEV_KEYS[0]).address,
        ]);
        const text = await readFile(keeper.finishedJournal, "utf8");
        expect(existsSync(keeper.journal)).to.equal(false);
        expect(text).to.include(hash).and.not.include(DEV_KEYS[0].slice(2));
        if (process.platform !== "win32") {
          const { mode } = await stat(keeper.finishedJournal);
          expect(mode & 0o777).to.equal(0o600);
        }
      });
    }

    if (nodeName !== "anvil") {
      return;
    }

    /** The signed transaction that went over the wire last. */
    const lastSigned = (): Transaction => {
      const sent = keeper.server.requests.findLast(
        ({ method }) => method === "eth_sendRawTransaction",
      );
      return Transaction.from(String(sent?.params[0]));
    };
    const [first, second] = DEV_KEYS;
    const phrase = { mnemonic: DEV_MNEMONIC, path: "m/44'/60'/0'/0/" };

    for (const [name, settings] of [
      ["an array of keys", { accounts: [first] }],
      ["a mnemonic", { accounts: { mnemonic: DEV_MNEMONIC } }],
      [
        "a mnemonic with path, index and passphrase",
        { accounts: { ...phrase, initialIndex: 3, count: 2, passphrase: "" } },
      ],
      [
        "from in the configuration",
        { accounts: [first, second], from: new Wallet(second).address },
      ],
      ["a fixed gas price", { accounts: [first], gasPrice: 3_000_000_000 }],
      ["a fixed gas limit", { accounts: [first], gas: 700_000 }],
      ["a gas multiplier", { accounts: [first], gasMultiplier: 1.7 }],
    ] satisfies ReadonlyArray<
      readonly [string, Partial<HttpNetworkUserConfig>]
    >) {
      it(`settleAll signs what Hardhat itself would send, but for fees and gas that are not configured: ${name}`, async () => {
        // Hardhat goes first. Its transaction is not mined, so that ours meets
        // the same nonce and the same base fee.
        const vault = await keeper.connect(settings);
        const { provider } = vault.connection;
        await keeper.world.provider.send("evm_setAutomine", [false]);
        await provider.request({
          method: "eth_sendTransaction",
          params: [{ to: keeper.world.contracts.vault, data: SETTLE }],
        });
        const theirs = lastSigned();
        const { from } = theirs;
        await keeper.world.provider.send("anvil_dropAllTransactions", []);
        keeper.server.before(
          { method: "eth_getTransactionReceipt", occurrence: 0 },
          keeper.world.mine,
        );

        const settlement = await vault.settleAll({ pollingInterval: 20 });

        expect(settlement.status, settlement.reason ?? "").to.equal("settled");
        const ours = lastSigned();
        if (!("gas" in settings || "gasMultiplier" in settings)) {
          // Refunds added, of a fifth at most, and a quarter more: Hardhat has neither.
          expect(Number(ours.gasLimit))
            .to.be.above(1.2 * Number(theirs.gasLimit))
            .and.below(1.6 * Number(theirs.gasLimit));
          theirs.gasLimit = ours.gasLimit;
        }
        if (!("gasPrice" in settings)) {
          // As getFeeData of ethers has them: test/simulation/fees.ts.
          theirs.maxFeePerGas = ours.maxFeePerGas;
          theirs.maxPriorityFeePerGas = ours.maxPriorityFeePerGas;
        }
        expect(ours.unsignedSerialized).to.equal(theirs.unsignedSerialized);
        expect(ours.from).to.equal(from);
      });
    }

    const ORDERS = 40;
    const POLLING = { pollingInterval: 20 };

    /** A vault whose settlement pays each order. */
    const openVault = async (
      name: SettlingVaultName,
    ): Promise<{
      vault: HardhatVault;
      openOrders: (count: number) => Promise<true>;
      paid: () => Promise<number>;
    }> => {
      const deployer = await keeper.world.provider.getSigner(4);
      const { contract, contracts, token } = await deploySettlingVault(
        deployer,
        name,
        { orders: ORDERS },
      );
      return {
        vault: await keeper.connect({ vault: { contracts } }),
        openOrders: async (count) => {
          await mined(await contract.getFunction("open").send(count));
          return true;
        },
        paid: async () => {
          const left: unknown = await token
            .getFunction("balanceOf")
            .staticCall(contract);
          return 1_000_000 - Number(left);
        },
      };
    };

    for (const [how, more] of [
      ["a simulation", 12],
      // A node does not tell what a simulation used before refunds, so that the
      // most that those can be is added, too.
      ["an estimate", 6],
    ] as const) {
      it(`settleAll has gas to spare for orders that come meanwhile, by ${how}`, async () => {
        const hasEngine = how === "a simulation";
        if (!hasEngine) {
          keeper.server.hide("eth_simulateV1", STATE_OVERRIDES);
        }
        const { vault, openOrders, paid } = await openVault("PayingVault");
        const settlement = await vault.settleAll({
          ...POLLING,
          confirm: async ({ preview }) => {
            expect(preview === null).to.equal(!hasEngine);
            return await openOrders(more);
          },
        });
        expect(settlement, settlement.reason ?? "").to.include({
          status: "settled",
        });
        expect(await paid()).to.equal(10 * (ORDERS + more));
      });
    }

    it("settleAll gives enough gas to a contract that goes on when its own calls run out", async () => {
      const { vault, paid } = await openVault("SwallowingVault");
      const settlement = await vault.settleAll(POLLING);
      expect(settlement).to.include({ status: "settled" });
      expect(settlement.preview?.differences).to.deep.equal([]);
      expect(await paid()).to.equal(10 * ORDERS);
    });

    it("settleAll is reverted with VAULT_OUT_OF_GAS if it needs more than it was given", async () => {
      const { vault, openOrders } = await openVault("PayingVault");
      const settlement = await vault.settleAll({
        ...POLLING,
        confirm: async () => await openOrders(3 * ORDERS),
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

  itSettlesAsEverywhere((): AnyKeeper => ({
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

  it("settleAll leaves fees to Hardhat, asks for the pending nonce alone, and keeps no journal: VAULT_NOTHING_TO_RESUME", async () => {
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
    const resumed = await connection.vault.settleAll({ resume: true });
    expect(resumed).to.include({
      status: "refused",
      code: "VAULT_NOTHING_TO_RESUME",
    });
    expect(resumed.reason).to.include("in process there is no journal");
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
