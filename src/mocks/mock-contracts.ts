import { Interface, getAddress, hexlify, id, toBigInt } from "ethers";

import type { VaultClient } from "../client/vault-client.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { byRole, contractRoleNames, contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { quoteForeignText } from "../untrusted-text.js";
import {
  MockLiquidityPoolArtifact,
  MockTradingArtifact,
  MockUnderlyingAssetArtifact,
  MockVaultArtifact,
  MockVaultFactoryArtifact,
} from "./artifacts.js";

export const mockArtifacts = {
  underlyingAsset: MockUnderlyingAssetArtifact,
  publicPool: MockLiquidityPoolArtifact,
  privatePool: MockLiquidityPoolArtifact,
  trading: MockTradingArtifact,
  vaultFactory: MockVaultFactoryArtifact,
  vault: MockVaultArtifact,
} as const satisfies Record<ContractRole, unknown>;

export type MockAddresses = Readonly<Record<ContractRole, `0x${string}`>>;

/** One call of a script, to the mock of a role. */
export interface ScriptCall {
  readonly role: ContractRole;
  readonly data: string;
}

export const mockInterfaces = byRole(
  (role) => new Interface(mockArtifacts[role].abi),
);

export function call(
  role: ContractRole,
  setter: string,
  ...args: readonly unknown[]
): ScriptCall {
  const data = mockInterfaces[role].encodeFunctionData(setter, [...args]);
  return { role, data };
}

/**
 * The address of every role.
 *
 * @param operation What needs them, named in errors.
 * @param otherwise Gives the address of a contract that has none.
 * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED
 */
export async function addressesOf(
  vault: VaultClient,
  operation?: string,
  otherwise?: (error: unknown) => string,
): Promise<MockAddresses> {
  const located = contractRoleNames.map(async (role) => [
    role,
    await vault
      .addressOf(role, operation)
      .then(({ address }) => address, otherwise),
  ]);
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry
  return Object.fromEntries(await Promise.all(located)) as MockAddresses;
}

/** How many scripts each mock has counted; none where no such mock stands. */
export type ScriptCounts = Map<ContractRole, bigint>;

const MOCK_INFO_SELECTOR = id("mockInfo()").slice(0, 10);

/** Asks each role's contract if it is its mock, and how often it was scripted. */
export async function countScripts(
  vault: VaultClient,
  addresses: MockAddresses,
): Promise<ScriptCounts> {
  const { from } = vault.readContext({});
  const counts: ScriptCounts = new Map();
  await Promise.all(
    contractRoleNames.map(async (role) => {
      const info = await vault.rpc.call(
        { from, to: addresses[role], data: MOCK_INFO_SELECTOR },
        "latest",
      );
      const kind = id(`hardhat-vault/${mockArtifacts[role].contractName}`);
      if (
        "data" in info &&
        info.data.length === 64 &&
        hexlify(info.data.subarray(0, 32)) === kind
      ) {
        counts.set(role, toBigInt(info.data.subarray(32)));
      }
    }),
  );
  return counts;
}

/**
 * Fails unless each role's contract is its mock. A script sent anywhere else
 * would be a transaction to a stranger, or succeed without doing anything.
 *
 * @throws VaultError VAULT_NOT_A_MOCK
 */
export async function requireMocks(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
  counts?: ScriptCounts,
): Promise<void> {
  const known = counts ?? (await countScripts(vault, addresses));
  for (const role of roles) {
    if (!known.has(role)) {
      throw vaultError("VAULT_NOT_A_MOCK", {
        contract: contractRoles[role].label,
        address: addresses[role],
        network: vault.networkName,
      });
    }
  }
}

/**
 * The fixed addresses of the mocks in process, so that fixtures can be loaded in
 * any order; each instance has its own. They start with "vault" in ASCII.
 */
export function inProcessAddresses(instance?: string): MockAddresses {
  const digits =
    instance === undefined ? "0".repeat(28) : id(instance).slice(-28);
  return byRole((role) => {
    const number = contractRoleNames.indexOf(role) + 1;
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every address begins so
    return getAddress(`0x7661756c74${digits}0${number}`) as `0x${string}`;
  });
}

/** Their addresses, but for those of instances. */
export const inProcessMockAddresses = inProcessAddresses();

/** Places code, on anvil too; the mocks have no constructor that had to run. */
export async function placeCode(
  { rpc }: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
): Promise<void> {
  for (const role of roles) {
    const { deployedBytecode } = mockArtifacts[role];
    await rpc.request("hardhat_setCode", [addresses[role], deployedBytecode]);
  }
}

/** True for a vault over a connection of Hardhat's, which has its settings. */
export function hasHost(vault: VaultClient): vault is VaultClient & VaultHost {
  return "connection" in vault;
}

/** True if the chain lives in this process, with nobody else on it. */
export function isInProcess(vault: VaultClient): boolean {
  return (
    hasHost(vault) && vault.connection.networkConfig.type === "edr-simulated"
  );
}

/**
 * Methods that only development nodes have: Hardhat's and anvil, which also let
 * their user place code. A live node may have the same name or chain id.
 */
const DEVELOPMENT_METHODS = ["hardhat_metadata", "anvil_nodeInfo"];

/**
 * Fails unless nothing costs money: in process, or on a development node.
 *
 * @param action The problem elsewhere, for the error's text, as are the remedies.
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireDevelopmentNode(
  vault: VaultClient,
  action = "mocks take the place of contracts only on a chain that is yours",
  instead = "Nothing was sent.",
): Promise<void> {
  if (isInProcess(vault)) {
    return;
  }
  // First, so that a node that cannot be reached is not called a live one.
  const chainId = await vault.chainId();
  for (const method of DEVELOPMENT_METHODS) {
    const answer = await vault.rpc
      .request(method)
      .catch(fallbackTo(undefined, ({ kind }) => kind === "rpc"));
    if (typeof answer === "object" && answer !== null) {
      return;
    }
  }
  const version = await vault.rpc.request("web3_clientVersion");
  throw vaultError("VAULT_LIVE_NETWORK", {
    network: vault.networkName,
    action,
    chainId,
    client: typeof version === "string" ? quoteForeignText(version) : "unknown",
    otherwise: instead,
  });
}

/** The clock of the next block, in Unix seconds: a node may have been idle. */
export async function readClock(vault: VaultClient): Promise<bigint> {
  const { next } = await vault.rpc.nextBlock();
  return BigInt(next.timestamp);
}
