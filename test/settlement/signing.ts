import { expect } from "chai";
import { Transaction, Wallet } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { DEV_KEYS, DEV_MNEMONIC } from "../helpers/world.js";

describe("how a settlement is signed", () => {
  let lane: LaneWithNode;
  let restore: () => Promise<void>;

  before(async () => {
    lane = await openLaneWithNode();
    restore = await lane.world.checkpoint();
  });
  beforeEach(() => {
    lane.server.reset();
  });
  afterEach(async () => {
    lane.server.show();
    await lane.world.provider.send("evm_setAutomine", [true]);
    await restore();
  });
  after(async () => {
    await lane.close();
  });

  /** The signed transaction that went over the wire last. */
  const lastRaw = (): string => {
    const sent = lane.server.requests.filter(
      ({ method }) => method === "eth_sendRawTransaction",
    );
    return String(sent.at(-1)?.params[0]);
  };

  const settleWith = async (
    settings: Partial<HttpNetworkUserConfig>,
  ): Promise<Transaction> => {
    const vault = await lane.connect(settings);
    const settlement = await vault.settleAll({ pollingInterval: 20 });
    expect(settlement.status, settlement.reason ?? "").to.equal("settled");
    return Transaction.from(lastRaw());
  };

  const configurations: ReadonlyArray<
    readonly [name: string, settings: Partial<HttpNetworkUserConfig>]
  > = [
    ["an array of keys", { accounts: [DEV_KEYS[0]] }],
    ["a mnemonic", { accounts: { mnemonic: DEV_MNEMONIC } }],
    [
      "a mnemonic with path, index and passphrase",
      {
        accounts: {
          mnemonic: DEV_MNEMONIC,
          path: "m/44'/60'/0'/0/",
          initialIndex: 3,
          count: 2,
          passphrase: "",
        },
      },
    ],
    [
      "from in the configuration",
      {
        accounts: [DEV_KEYS[0], DEV_KEYS[1]],
        from: new Wallet(DEV_KEYS[1]).address,
      },
    ],
    ["a fixed gas price", { accounts: [DEV_KEYS[0]], gasPrice: 3_000_000_000 }],
    ["a fixed gas limit", { accounts: [DEV_KEYS[0]], gas: 700_000 }],
    ["a gas multiplier", { accounts: [DEV_KEYS[0]], gasMultiplier: 1.7 }],
  ];
  for (const [name, settings] of configurations) {
    it(`settleAll signs what Hardhat itself would send: ${name}`, async () => {
      // Hardhat goes first. Its transaction is not mined, so that ours meets
      // the same nonce and the same base fee.
      const { connection } = await lane.connect(settings);
      await lane.world.provider.send("evm_setAutomine", [false]);
      await connection.provider.request({
        method: "eth_sendTransaction",
        params: [{ to: lane.world.contracts.vault, data: "0xa015aefe" }],
      });
      const hardhats = lastRaw();
      await lane.world.provider.send("anvil_dropAllTransactions", []);
      lane.server.before(
        { method: "eth_getTransactionReceipt", occurrence: 0 },
        async () => {
          await lane.world.mine();
        },
      );

      const ours = await settleWith(settings);

      const theirs = Transaction.from(hardhats);
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
      expect(ours.from).to.equal(Transaction.from(hardhats).from);
    });
  }
});
