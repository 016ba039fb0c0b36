import { HDNodeWallet, JsonRpcProvider, Wallet } from "ethers";
import type { Signer } from "ethers";

import {
  MockLiquidityPool__factory,
  MockTrading__factory,
  MockUnderlyingAsset__factory,
  MockVaultFactory__factory,
  MockVault__factory,
} from "../../src/bindings/index.js";
import type { MockVault, MockVaultFactory } from "../../src/bindings/index.js";
import { assertInvariant } from "../../src/errors.js";
import type { MockContracts } from "../../src/mocks/handle.js";
import type { ContractRole, VaultRound } from "../../src/protocol/index.js";
import { useAnvil } from "./anvil.js";
import { OPEN_ROUND } from "./scripted-contracts.js";
import { deployContract, mined, untilFound } from "./transactions.js";

/** The well-known development mnemonic of anvil and `hardhat node`. */
export const DEV_MNEMONIC =
  "test test test test test test test test test test test junk";

/** The first private keys of that mnemonic. */
export const DEV_KEYS = [devKey(0), devKey(1), devKey(2)] as const;

/** What a settlement writes. */
export const SETTLED_PRICE = 2_000n * 10n ** 18n;
export const SETTLED_AMOUNT = 77n;

/** The `changes` of a simulation of that settlement. */
export const SETTLEMENT_CHANGES = [
  { field: "settledPrice", before: 0n, after: SETTLED_PRICE },
  { field: "settledAmount", before: 0n, after: SETTLED_AMOUNT },
  { field: "settled", before: false, after: true },
].map((change) => ({ reading: "round", ...change }));

const WEEK = 604_800n;

export const openRound: VaultRound = roundUntil(2_000_000_000n);

function roundUntil(endTime: bigint): VaultRound {
  return {
    ...OPEN_ROUND,
    APY: 10n ** 17n,
    startTime: endTime - WEEK,
    endTime,
  };
}

export interface MockProtocol {
  readonly mocks: MockContracts;
  /** For `vault.contracts` of a network. */
  readonly contracts: Readonly<Record<ContractRole, string>>;
}

/**
 * The six mocks with an open round, deployed without `deployMocks()`, which has
 * tests of its own.
 */
export async function deployProtocol(
  deployer: Signer,
  roundEnd = openRound.endTime,
): Promise<MockProtocol> {
  const pool = new MockLiquidityPool__factory(deployer);
  const mocks = {
    underlyingAsset: await deployContract(
      new MockUnderlyingAsset__factory(deployer),
    ),
    publicPool: await deployContract(pool),
    privatePool: await deployContract(pool),
    trading: await deployContract(new MockTrading__factory(deployer)),
    vaultFactory: await deployContract(new MockVaultFactory__factory(deployer)),
    vault: await deployContract(new MockVault__factory(deployer)),
  };
  const { vault, vaultFactory } = mocks;
  await mined(await vaultFactory.startNextRound(roundUntil(roundEnd)));
  await mined(await vault.setFactory(vaultFactory));
  await mined(await vault.setSettlement(SETTLED_PRICE, SETTLED_AMOUNT));
  return {
    mocks,
    contracts: {
      underlyingAsset: await mocks.underlyingAsset.getAddress(),
      publicPool: await mocks.publicPool.getAddress(),
      privatePool: await mocks.privatePool.getAddress(),
      trading: await mocks.trading.getAddress(),
      vaultFactory: await vaultFactory.getAddress(),
      vault: await vault.getAddress(),
    },
  };
}

/** An ethers provider that caches nothing, for a node that mines at once. */
export function directProvider(url: string): JsonRpcProvider {
  return new DirectProvider(url, undefined, providerOptions);
}

const providerOptions = {
  staticNetwork: true,
  cacheTimeout: -1,
  batchMaxCount: 1,
  pollingInterval: 10,
};

class DirectProvider extends JsonRpcProvider {
  public override async send(
    method: string,
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature to override has it
    params: any[] | Record<string, any>,
  ): Promise<unknown> {
    const answer: unknown = await super.send(method, params);
    if (method === "eth_sendTransaction") {
      await untilFound<unknown>(async () => {
        const found: unknown = await super.send("eth_getTransactionReceipt", [
          answer,
        ]);
        return found;
      });
    }
    return answer;
  }
}

/** The mocks on an anvil for all tests of a suite: after each test, it is as before. */
export function useProtocol(...args: readonly string[]): {
  readonly url: string;
  readonly provider: JsonRpcProvider;
  readonly protocol: MockProtocol;
} {
  const anvil = useAnvil(...args);
  let protocol: MockProtocol | undefined;
  let provider: JsonRpcProvider | undefined;
  let checkpoint: unknown;
  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
  });
  after(() => provider?.destroy());
  beforeEach(async () => {
    checkpoint = await provider?.send("evm_snapshot", []);
  });
  afterEach(async () => {
    await provider?.send("evm_revert", [checkpoint]);
  });
  const running = <T>(value: T | undefined): T => {
    assertInvariant(value !== undefined, "no test runs");
    return value;
  };
  return {
    get url() {
      return anvil.url;
    },
    get provider() {
      return running(provider);
    },
    get protocol() {
      return running(protocol);
    },
  };
}

/**
 * A vault with an open round on a node, and everybody else who acts on that
 * chain, past any server between the node and the tests.
 */
export interface SettlementChain {
  readonly provider: JsonRpcProvider;
  readonly vault: MockVault;
  readonly factory: MockVaultFactory;
  /** For `vault.contracts` of a network. */
  readonly contracts: { readonly vault: string; readonly vaultFactory: string };
  /** Another account settles the current round. */
  settleByOther(): Promise<void>;
  /** Opens the next round, even if this one is not settled. */
  openNextRound(): Promise<void>;
  settlementCount(): Promise<number>;
  /** Senders of the settlements that succeeded, without the first ones. */
  settlers(skip?: number): Promise<string[]>;
  round(): Promise<{ readonly startTime: bigint; readonly settled: boolean }>;
  readonly mine: () => Promise<void>;
  /** Returns a function that takes the chain back to this moment, any number of times. */
  checkpoint(): Promise<() => Promise<void>>;
  close(): void;
}

/** The private key of an account of {@link DEV_MNEMONIC}. */
export function devKey(index: number): string {
  const path = `m/44'/60'/0'/0/${index}`;
  return HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, path).privateKey;
}

/** @param otherKey Account of everybody else; no test settles with it. */
export async function openChain(
  url: string,
  otherKey: string,
): Promise<SettlementChain> {
  const provider = new JsonRpcProvider(url, undefined, providerOptions);
  const deployer = new Wallet(otherKey, provider);
  const { mocks, contracts: all } = await deployProtocol(deployer);
  const { vault, vaultFactory: factory } = mocks;
  const contracts = { vault: all.vault, vaultFactory: all.vaultFactory };

  // The node signs: that takes a fraction of the requests of a contract call.
  const act = async (to: string, data: string): Promise<void> => {
    const transaction = { from: deployer.address, to, data, gas: "0xf4240" };
    const hash: unknown = await provider.send("eth_sendTransaction", [
      transaction,
    ]);
    await untilFound(
      async () => await provider.getTransactionReceipt(String(hash)),
    );
  };

  let latest = openRound;
  return {
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
      latest = roundUntil(latest.endTime + WEEK);
      await act(
        contracts.vaultFactory,
        factory.interface.encodeFunctionData("startNextRound", [latest]),
      );
    },
    settlementCount: async () => Number(await vault.settlementCount()),
    settlers: async (skip = 0) => {
      const count = Number(await vault.settlementCount());
      const settlements = await Promise.all(
        Array.from(
          { length: count - skip },
          async (_, index) => await vault.settlement(skip + index),
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
        latest = openRound;
      };
    },
    close: () => {
      provider.destroy();
    },
  };
}
