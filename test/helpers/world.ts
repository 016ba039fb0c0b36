import { expect } from "chai";
import { HDNodeWallet, JsonRpcProvider, Wallet } from "ethers";

import { deployMocks } from "../../src/mocks/index.js";
import type { MockOverrides, MockVaultHandle } from "../../src/mocks/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import { useAnvil } from "./anvil.js";
import { fetchProvider } from "./fetch-provider.js";
import { OPEN_ROUND } from "./scripted-contracts.js";
import { untilFound } from "./transactions.js";

/** The well-known development mnemonic of anvil and `hardhat node`. */
export const DEV_MNEMONIC =
  "test test test test test test test test test test test junk";

/** The first private keys of that mnemonic. */
export const DEV_KEYS = [devKey(0), devKey(1), devKey(2)] as const;

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

/** Mocks with that round. */
export const openMocks: MockOverrides = {
  round: openRound,
  settlement: { settledPrice: SETTLED_PRICE, settledAmount: SETTLED_AMOUNT },
};

/** An ethers provider that caches nothing, for a node that mines at once. */
const directProvider = (url: string): JsonRpcProvider =>
  new JsonRpcProvider(url, undefined, {
    staticNetwork: true,
    cacheTimeout: -1,
    batchMaxCount: 1,
    pollingInterval: 10,
  });

/** The mocks on an anvil for all tests of a suite: after each test, it is as before. */
export function useMocks({
  args = [],
  overrides = openMocks,
}: {
  readonly args?: readonly string[];
  readonly overrides?: MockOverrides;
} = {}): {
  readonly url: string;
  readonly provider: JsonRpcProvider;
  readonly mocks: MockVaultHandle;
} {
  const anvil = useAnvil(...args);
  let mocks: MockVaultHandle | undefined;
  let provider: JsonRpcProvider | undefined;
  let checkpoint: unknown;
  before(async () => {
    provider = directProvider(anvil.url);
    mocks = await deployMocks(fetchProvider(anvil.url), { overrides });
  });
  after(() => provider?.destroy());
  beforeEach(async () => {
    checkpoint = await provider?.send("evm_snapshot", []);
  });
  afterEach(async () => {
    await provider?.send("evm_revert", [checkpoint]);
  });
  return {
    get url() {
      return anvil.url;
    },
    get provider() {
      return provider ?? expect.fail("no test runs");
    },
    get mocks() {
      return mocks ?? expect.fail("no test runs");
    },
  };
}

/** A vault with an open round on a node, and everybody else who acts on that chain. */
export type SettlementChain = Awaited<ReturnType<typeof chainOn>>;

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
  return await chainOn(url, otherKey);
}

async function chainOn(url: string, otherKey: string) {
  const provider = directProvider(url);
  const from = new Wallet(otherKey).address;
  const node = fetchProvider(url);
  const ofOther: Eip1193Provider = {
    request: async (asked) =>
      asked.method === "eth_accounts" ? [from] : await node.request(asked),
  };
  const mocks = await deployMocks(ofOther, { overrides: openMocks });
  const { vault: address, vaultFactory } = mocks.addresses;
  const vault = mocks.contracts.vault.connect(provider);
  const factory = mocks.contracts.vaultFactory.connect(provider);

  // The node signs: that takes a fraction of the requests of a contract call.
  const act = async (to: string, data: string): Promise<void> => {
    const hash: unknown = await provider.send("eth_sendTransaction", [
      { from, to, data, gas: "0xf4240" },
    ]);
    await untilFound(
      async () => await provider.getTransactionReceipt(String(hash)),
    );
  };

  let latest = openRound;
  return {
    provider,
    mocks,
    contracts: { vault: address, vaultFactory },
    settleByOther: async () => {
      await act(address, vault.interface.encodeFunctionData("settleAll"));
    },
    /** Opens the next round, even if this one is not settled. */
    openNextRound: async () => {
      latest = roundUntil(latest.endTime + WEEK);
      await act(
        vaultFactory,
        factory.interface.encodeFunctionData("startNextRound", [latest]),
      );
    },
    settlementCount: async () => Number(await vault.settlementCount()),
    /** Senders of the settlements that succeeded, without the first ones. */
    settlers: async (skip = 0): Promise<string[]> => {
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
    /** Returns a function that takes the chain back to this moment, any number of times. */
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
