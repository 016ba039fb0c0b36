import { brotliDecompressSync } from "node:zlib";

import { Interface, getAddress, id } from "ethers";
import type { ContractRunner, Signer } from "ethers";

import { withCallerStack } from "../caller-stack.js";
import type { VaultClient } from "../client/vault-client.js";
import { vaultError } from "../errors.js";
import { isInProcess } from "../host.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import { byRole, contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { getNextBlock } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/chain.js";
import {
  MockLiquidityPoolArtifact,
  MockTradingArtifact,
  MockUnderlyingAssetArtifact,
  MockVaultArtifact,
  MockVaultFactoryArtifact,
} from "./artifacts.js";
import type { MockAddresses } from "./deployed-mocks.js";

export const mockArtifacts = {
  underlyingAsset: MockUnderlyingAssetArtifact,
  publicPool: MockLiquidityPoolArtifact,
  privatePool: MockLiquidityPoolArtifact,
  trading: MockTradingArtifact,
  vaultFactory: MockVaultFactoryArtifact,
  vault: MockVaultArtifact,
} as const satisfies Record<ContractRole, unknown>;

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
 * The fixed addresses of the mocks in process. They start with "vault" in ASCII,
 * and do not depend on the order of deployments. Each instance has its own.
 */
export function inProcessAddresses(instance?: string): MockAddresses {
  const digits =
    instance === undefined ? "0".repeat(28) : id(instance).slice(-28);
  return byRole((role) => {
    const number = contractRoleNames.indexOf(role) + 1;
    // getAddress returns 0x and 40 digits
    return getAddress(`0x7661756c74${digits}0${number}`) as `0x${string}`;
  });
}

/** Addresses of the mocks that `deployMocks()` places in process, by role. */
export const inProcessMockAddresses = inProcessAddresses();

/** Places code without running constructors: the mocks have none. */
export async function placeCode(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
): Promise<void> {
  const { rpc } = vault;
  if (isInProcess(vault)) {
    await nameInStacks(vault);
  }
  for (const role of roles) {
    const { deployedBytecode } = mockArtifacts[role];
    await rpc.request("hardhat_setCode", [addresses[role], deployedBytecode]);
  }
}

/** The projects whose networks have the build info: one decoder serves all of them. */
const known = new WeakSet<object>();

/**
 * Lets an in-process network name the mocks' contracts, functions and errors in the
 * stack of a transaction that reverts in them. Hardhat does the same with the project's
 * own contracts.
 */
async function nameInStacks({
  connection: { provider },
  context,
}: VaultHost): Promise<void> {
  // Not in the provider's interface; `hardhat node` calls it after a compilation.
  const { addCompilationResult: add } = asRecord(provider);
  if (
    typeof add !== "function" ||
    known.has(context.artifacts) ||
    // For --gas-stats, Hardhat would measure every contract that it can name.
    (await context.hooks.hasHandlers("network", "onGasMeasurement"))
  ) {
    return;
  }
  known.add(context.artifacts);
  const { buildInfo } = await import("./build-info.js");
  const { solcVersion, input, output } = asRecord(
    JSON.parse(
      brotliDecompressSync(Buffer.from(buildInfo, "base64")).toString("utf8"),
    ),
  );
  try {
    await Reflect.apply(add, provider, [solcVersion, input, output]);
  } catch {
    // Names are not worth the failure of a test, with a Hardhat that takes another form.
  }
}

/** In process, calls and transactions are the first account's, as with hardhat-ethers. */
export function runnerOf(vault: VaultClient): ContractRunner | null {
  if (!isInProcess(vault)) {
    return vault.contracts.vault.runner;
  }
  const { provider } = vault.connection.ethers;
  // A look-up of the account takes a request, so it waits for the first use.
  const signer = async (): Promise<Signer> => await provider.getSigner(0);
  return {
    provider,
    call: async (tx) => {
      // A signer refuses another sender, which a read may have.
      const runner =
        tx.from === undefined ? await signer().catch(() => provider) : provider;
      return await runner.call(tx);
    },
    estimateGas: async (tx) => await (await signer()).estimateGas(tx),
    sendTransaction: async (tx) => await (await signer()).sendTransaction(tx),
    resolveName: async (name) => await provider.resolveName(name),
  };
}

/**
 * Checks that the network is in process or a development node.
 *
 * @param action The problem with another network, for the error.
 * @param instead The remedies, for the error.
 */
export async function requireDevelopmentNode(
  vault: VaultClient,
  action = "mocks are for development nodes only",
  instead = "Nothing was sent.",
): Promise<void> {
  if (isInProcess(vault)) {
    return;
  }
  // First, so that an unreachable node is not reported as a live network.
  const chainId = await vault.chainId();
  if (await isDevelopmentNode(vault.rpc)) {
    return;
  }
  const version = await vault.rpc.request("web3_clientVersion");
  throw vaultError("VAULT_LIVE_NETWORK", {
    network: vault.networkName,
    action,
    chainId,
    client:
      typeof version === "string"
        ? vault.rpc.redactor.quote(version)
        : "unknown",
    otherwise: instead,
  });
}

/**
 * Changes mocks, once earlier changes are done: each reads what it changes in part. An error
 * has the frames of the caller.
 */
export async function changeMocks<Result>(
  vault: VaultClient,
  change: () => Promise<Result>,
): Promise<Result> {
  return await withCallerStack(
    async () => await vault.rpc.node.changes(change),
  );
}

/** Reads the time of the next block, in Unix seconds; the latest may be old. */
export async function readClock(vault: VaultClient): Promise<bigint> {
  return BigInt((await getNextBlock(vault.rpc)).timestamp);
}
