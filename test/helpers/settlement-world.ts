import { HDNodeWallet, JsonRpcProvider, Wallet } from "ethers";

import { MockVaultFactory__factory } from "../../src/bindings/factories/MockVaultFactory__factory.js";
import { MockVault__factory } from "../../src/bindings/factories/MockVault__factory.js";
import type { MockVault, MockVaultFactory } from "../../src/bindings/index.js";
import { deployContract, mined } from "./transactions.js";

/** The well-known development mnemonic of anvil and `hardhat node`. */
export const DEV_MNEMONIC =
  "test test test test test test test test test test test junk";

/** The first private keys of that mnemonic. */
export const DEV_KEYS = [
  "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
] as const;

export const SETTLED_PRICE = 1_875n * 10n ** 18n;
export const SETTLED_AMOUNT = 4_200n;

export const FIRST_ROUND = {
  strikePrice: 1_900n * 10n ** 18n,
  APY: 10n ** 17n,
  maxVolume: 1_000n,
  filledVolume: 400n,
  minDeposit: 10n,
  startTime: 1_800_000_000n,
  endTime: 1_800_604_800n,
};

/**
 * A vault with an open round on a node, and everybody else who acts on that
 * chain: always directly, past whatever stands between the node and the tests.
 */
export interface SettlementWorld {
  readonly provider: JsonRpcProvider;
  readonly vault: MockVault;
  readonly factory: MockVaultFactory;
  /** For `vault.contracts` of a network. */
  readonly contracts: { readonly vault: string; readonly vaultFactory: string };
  /** Somebody else settles the current round. */
  settleByOther(): Promise<void>;
  /** The next round opens, whether or not this one is settled. */
  openNextRound(): Promise<void>;
  /** How many settlements succeeded. */
  settlementCount(): Promise<number>;
  /** The senders of settlements that succeeded, but for the first ones. */
  settlers(skip?: number): Promise<string[]>;
  round(): Promise<{ readonly startTime: bigint; readonly settled: boolean }>;
  mine(): Promise<void>;
  /** Takes the chain back to this moment; can be done again and again. */
  checkpoint(): Promise<() => Promise<void>>;
  close(): void;
}

/** The private key of an account of {@link DEV_MNEMONIC}. */
export function devKey(index: number): string {
  return HDNodeWallet.fromPhrase(
    DEV_MNEMONIC,
    undefined,
    `m/44'/60'/0'/0/${index}`,
  ).privateKey;
}

/**
 * Deploys a vault and its factory.
 *
 * @param otherKey The account of everybody else; no test may settle with it.
 */
export async function createWorld(
  url: string,
  otherKey: string = DEV_KEYS[2],
): Promise<SettlementWorld> {
  const provider = new JsonRpcProvider(url, undefined, {
    staticNetwork: true,
    cacheTimeout: -1,
    batchMaxCount: 1,
    pollingInterval: 10,
  });
  const deployer = new Wallet(otherKey, provider);
  const factory = await deployContract(new MockVaultFactory__factory(deployer));
  const vault = await deployContract(new MockVault__factory(deployer));
  const contracts = {
    vault: await vault.getAddress(),
    vaultFactory: await factory.getAddress(),
  };
  await mined(await factory.startNextRound(FIRST_ROUND));
  await mined(await vault.setFactory(factory));
  await mined(await vault.setSettlement(SETTLED_PRICE, SETTLED_AMOUNT));

  // The node signs: that takes a fraction of the requests of a contract call.
  const act = async (to: string, data: string): Promise<void> => {
    const hash: unknown = await provider.send("eth_sendTransaction", [
      { from: deployer.address, to, data, gas: "0xf4240" },
    ]);
    let receipt = null;
    while (receipt === null) {
      receipt = await provider.getTransactionReceipt(String(hash));
    }
  };

  let latest = FIRST_ROUND;
  const world: SettlementWorld = {
    provider,
    vault,
    factory,
    contracts,
    settleByOther: async () => {
      await act(
        contracts.vault,
        vault.interface.encodeFunctionData("settleAll"),
      );
    },
    openNextRound: async () => {
      latest = {
        ...latest,
        startTime: latest.endTime,
        endTime: latest.endTime + 604_800n,
      };
      await act(
        contracts.vaultFactory,
        factory.interface.encodeFunctionData("startNextRound", [latest]),
      );
    },
    settlementCount: async () => Number(await vault.settlementCount()),
    settlers: async (skip = 0) => {
      const count = Number(await vault.settlementCount());
      const settlements = await Promise.all(
        Array.from({ length: count - skip }, (_, index) =>
          vault.settlement(skip + index),
        ),
      );
      return settlements.map(({ caller }) => caller);
    },
    round: async () => {
      const { startTime, settled } = await factory.getLatestRoundInfo();
      return { startTime, settled };
    },
    mine: async () => {
      await provider.send("evm_mine", []);
    },
    checkpoint: async () => {
      let id: unknown = await provider.send("evm_snapshot", []);
      return async () => {
        await provider.send("evm_revert", [id]);
        // Reverting uses a snapshot up.
        id = await provider.send("evm_snapshot", []);
        latest = FIRST_ROUND;
      };
    },
    close: () => {
      provider.destroy();
    },
  };
  return world;
}
