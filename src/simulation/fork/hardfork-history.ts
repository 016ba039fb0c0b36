import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";
import type { ChainDescriptorsConfig } from "hardhat/types/config";
import type { ChainType } from "hardhat/types/network";

const oneAtATime = new AsyncMutex();

/**
 * Creates a fork while its chain has a hardfork history, without which the
 * simulator refuses to execute on a forked block ("No known hardfork"): the fork's
 * own hardfork was always active. Other forks of the chain keep their history.
 */
export async function withHardforkHistory<T>(
  descriptors: ChainDescriptorsConfig,
  chain: { chainId: number; chainType: ChainType; hardfork: string },
  create: () => Promise<T>,
): Promise<T> {
  return await oneAtATime.exclusiveRun(async () => {
    const chainId = BigInt(chain.chainId);
    const own = descriptors.get(chainId);
    descriptors.set(chainId, {
      name: own?.name ?? `chain ${chain.chainId}`,
      blockExplorers: own?.blockExplorers ?? {},
      // Of another type, it would be left out by the simulator.
      chainType: chain.chainType,
      hardforkHistory:
        own?.hardforkHistory ?? new Map([[chain.hardfork, { blockNumber: 0 }]]),
    });
    try {
      return await create();
    } finally {
      if (own === undefined) {
        descriptors.delete(chainId);
      } else {
        descriptors.set(chainId, own);
      }
    }
  });
}
