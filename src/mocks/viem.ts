/**
 * The six mocks as viem's own contract objects.
 *
 * @module hardhat-vault/viem
 */
import { getContract } from "viem";
import type { GetContractParameters, GetContractReturnType } from "viem";

import { byRole } from "../protocol/index.js";
import { mockArtifacts } from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";

/**
 * A client of viem, or `{ public, wallet }`, of which one may be left out: what
 * viem's own `getContract` takes.
 */
export type ViemClient = GetContractParameters["client"];

/** viem's contract objects of the six mocks, with their setters. */
export type ViemMockContracts<ClientT extends ViemClient> = {
  readonly [Role in keyof typeof mockArtifacts]: GetContractReturnType<
    (typeof mockArtifacts)[Role]["abi"],
    ClientT
  >;
};

/**
 * The mocks as viem's contract objects: `getContract` of viem for all six, each
 * typed by its ABI.
 *
 * @param parameters `addresses`: those of `deployMocks()`; `client`: as for
 * viem's `getContract`
 * @example
 * ```ts
 * const mocks = await vault.deployMocks();
 * const [wallet] = await viem.getWalletClients();
 * const contracts = getMockContracts({
 *   addresses: mocks.addresses,
 *   client: { public: await viem.getPublicClient(), wallet },
 * });
 * await contracts.vault.write.setVolume([5n]);
 * await contracts.vault.read.queryVolume();
 * // 5n
 * ```
 */
export function getMockContracts<const ClientT extends ViemClient>({
  addresses,
  client,
}: {
  readonly addresses: MockAddresses;
  readonly client: ClientT;
}): ViemMockContracts<ClientT> {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each role has the contract of exactly that ABI
  return byRole((role) =>
    getContract({
      abi: mockArtifacts[role].abi,
      address: addresses[role],
      client,
    }),
  ) as ViemMockContracts<ClientT>;
}
