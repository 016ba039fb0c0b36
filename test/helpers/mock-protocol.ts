import { JsonRpcProvider } from "ethers";
import type { Signer } from "ethers";

import { MockLiquidityPool__factory } from "../../src/bindings/factories/MockLiquidityPool__factory.js";
import { MockTrading__factory } from "../../src/bindings/factories/MockTrading__factory.js";
import { MockUnderlyingAsset__factory } from "../../src/bindings/factories/MockUnderlyingAsset__factory.js";
import { MockVaultFactory__factory } from "../../src/bindings/factories/MockVaultFactory__factory.js";
import { MockVault__factory } from "../../src/bindings/factories/MockVault__factory.js";
import type {
  MockLiquidityPool,
  MockTrading,
  MockUnderlyingAsset,
  MockVault,
  MockVaultFactory,
} from "../../src/bindings/index.js";
import type { ContractRole } from "../../src/protocol/index.js";
import { deployContract } from "./transactions.js";

/** `settledPrice` and `settledAmount` that a settlement writes. */
export const SETTLEMENT = { price: 1_875n * 10n ** 18n, amount: 4_200n };

/** The `changes` of a simulation of that settlement. */
export const SETTLEMENT_CHANGES = [
  {
    reading: "round",
    field: "settledPrice",
    before: 0n,
    after: SETTLEMENT.price,
  },
  {
    reading: "round",
    field: "settledAmount",
    before: 0n,
    after: SETTLEMENT.amount,
  },
  { reading: "round", field: "settled", before: false, after: true },
] as const;

export interface MockProtocol {
  readonly mocks: {
    readonly underlyingAsset: MockUnderlyingAsset;
    readonly publicPool: MockLiquidityPool;
    readonly privatePool: MockLiquidityPool;
    readonly trading: MockTrading;
    readonly vaultFactory: MockVaultFactory;
    readonly vault: MockVault;
  };
  /** For `vault.contracts` of a network. */
  readonly contracts: Readonly<Record<ContractRole, string>>;
}

/**
 * The six mocks, deployed by hand: for tests that script a contract in ways
 * that a scenario does not, or that must not depend on what deploys scenarios.
 */
export async function deployProtocol(
  deployer: Signer,
  roundEnd = 2_000_000_000n,
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
  await (
    await mocks.vaultFactory.startNextRound({
      strikePrice: 1_900n * 10n ** 18n,
      APY: 10n ** 17n,
      maxVolume: 1_000n,
      filledVolume: 400n,
      minDeposit: 10n,
      startTime: roundEnd - 604_800n,
      endTime: roundEnd,
    })
  ).wait();
  await (await mocks.vault.setFactory(mocks.vaultFactory)).wait();
  await (
    await mocks.vault.setSettlement(SETTLEMENT.price, SETTLEMENT.amount)
  ).wait();
  return {
    mocks,
    contracts: {
      underlyingAsset: await mocks.underlyingAsset.getAddress(),
      publicPool: await mocks.publicPool.getAddress(),
      privatePool: await mocks.privatePool.getAddress(),
      trading: await mocks.trading.getAddress(),
      vaultFactory: await mocks.vaultFactory.getAddress(),
      vault: await mocks.vault.getAddress(),
    },
  };
}

/** An ethers provider that caches nothing, for a node that mines at once. */
export function directProvider(url: string): JsonRpcProvider {
  return new DirectProvider(url, undefined, {
    staticNetwork: true,
    cacheTimeout: -1,
    batchMaxCount: 1,
  });
}

/** Waits by itself, for the reason that `mined()` gives. */
class DirectProvider extends JsonRpcProvider {
  public override async send(
    method: string,
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature to override has it
    params: any[] | Record<string, any>,
  ): Promise<unknown> {
    const answer: unknown = await super.send(method, params);
    if (method === "eth_sendTransaction") {
      while (
        (await super.send("eth_getTransactionReceipt", [answer])) === null
      );
    }
    return answer;
  }
}
