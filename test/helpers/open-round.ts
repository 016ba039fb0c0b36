import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { createTestHre } from "./hre.js";

/** The price, with 18 decimals, and the amount that the round is settled with. */
export const PRICE = 2_000n * 10n ** 18n;
export const AMOUNT = 77n;

interface Sent {
  readonly hash: string;
  wait(): Promise<unknown>;
}

/** A vault with an open round in process, as it was deployed for each test. */
export interface OpenRound {
  readonly connection: NetworkConnection;
  readonly vault: HardhatVault;
  readonly mocks: MockVaultHandle;
  readonly withoutRound: HardhatVault;
  readonly request: (
    method: string,
    ...params: readonly unknown[]
  ) => Promise<unknown>;
  /** Sends settleAll, which settles the round at PRICE with AMOUNT. */
  readonly settle: () => Promise<Sent>;
  /** Sends a transaction that changes the volume, which is 100. */
  readonly setVolume: (volume: bigint) => Promise<Sent>;
  readonly startNextRound: () => Promise<string>;
}

export function useOpenRound(): () => OpenRound {
  let round: OpenRound | undefined;
  let snapshot: unknown;
  const opened = (): OpenRound => round ?? expect.fail("no test runs");
  before(async () => {
    const connection = await (await createTestHre()).network.create();
    const mocks = await connection.vault.deployMocks({
      overrides: {
        round: {
          strikePrice: 1_900n * 10n ** 18n,
          startTime: 1_700_000_000n,
          endTime: 1_800_000_000n,
          filledVolume: 7n,
        },
        settlement: { settledPrice: PRICE, settledAmount: AMOUNT },
        volume: 100n,
        minXMargin: 0n,
        fundingFeeRate: { call: 3n, put: 4n },
        pools: { public: { locked: 0n }, private: { locked: 50n } },
      },
    });
    const contract = mocks.contracts.vault.connect(
      await connection.ethers.provider.getSigner(0),
    );
    const { vault } = mocks;
    const request: OpenRound["request"] = async (method, ...params) => {
      const answer: unknown = await connection.provider.request({
        ...{ method, params: [...params] },
      });
      return answer;
    };
    // A limit, since an estimate fails if the transaction reverts.
    const gas = { gasLimit: 500_000n };
    round = {
      ...{ connection, vault, mocks, request },
      withoutRound: vault.at({ vaultFactory: mocks.addresses.vault }),
      settle: async () => await contract.settleAll(gas),
      setVolume: async (volume) => await contract.setVolume(volume, gas),
      startNextRound: async () => {
        const { hash } = await mocks.contracts.vaultFactory.startNextRound(
          {
            ...(await vault.getLatestRoundInfo()),
            ...{ startTime: 1_800_000_000n, endTime: 1_900_000_000n },
            filledVolume: 0n,
          },
          gas,
        );
        return hash;
      },
    };
    snapshot = await request("evm_snapshot");
  });
  after(async () => {
    await round?.connection.close();
  });
  afterEach(async () => {
    const { request } = opened();
    await request("evm_setAutomine", true);
    await request("evm_revert", snapshot);
    snapshot = await request("evm_snapshot");
  });
  return opened;
}

export async function failureOf(
  assertion: PromiseLike<unknown>,
): Promise<Error> {
  try {
    await assertion;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  throw new Error("expected a failure, but the assertion passed");
}

/** With each look at the clock, so many milliseconds pass. */
export async function whileTimePasses<Value>(
  step: number,
  work: () => Promise<Value>,
): Promise<Value> {
  const { now } = Date;
  let passed = 0;
  Date.now = () => now() + (passed += step);
  try {
    return await work();
  } finally {
    Date.now = now;
  }
}
