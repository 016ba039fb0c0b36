import { brotliDecompressSync } from "node:zlib";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { Interface, ZeroAddress, getAddress, hexlify, id } from "ethers";

import type { VaultClient } from "../client/vault-client.js";
import { hexWord } from "../client/codec.js";
import { vaultError, withCallerStack } from "../errors.js";
import type { VaultError } from "../errors.js";
import { configuredGasCap, hasHost, isInProcess } from "../host.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import { byRole, contractRoleNames, contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { TRANSACTION_GAS_CAP, getNextBlock } from "../rpc/blocks.js";
import { callContract, isDevelopmentNode } from "../rpc/chain.js";
import type { Call } from "../rpc/chain.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { trace } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import { sendCalls } from "../sending/send-calls.js";
import { resolveSigner } from "../sending/signer.js";
import {
  MockLiquidityPoolArtifact,
  MockTradingArtifact,
  MockUnderlyingAssetArtifact,
  MockVaultArtifact,
  MockVaultFactoryArtifact,
} from "./artifacts.js";

export type MockAddresses = Readonly<Record<ContractRole, `0x${string}`>>;

export const mockArtifacts = {
  underlyingAsset: MockUnderlyingAssetArtifact,
  publicPool: MockLiquidityPoolArtifact,
  privatePool: MockLiquidityPoolArtifact,
  trading: MockTradingArtifact,
  vaultFactory: MockVaultFactoryArtifact,
  vault: MockVaultArtifact,
} as const satisfies Record<ContractRole, unknown>;

export const mockInterfaces = byRole(
  (role) => new Interface(mockArtifacts[role].abi),
);

/** A call of a setter; a script has several. */
export interface ScriptCall {
  readonly role: ContractRole;
  readonly data: string;
}

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

const MOCK_INFO_SELECTOR = id("mockInfo()").slice(0, 10);

/**
 * Checks that each role's contract is its mock: another contract could accept a
 * script and do nothing, or something else.
 */
export async function requireMocks(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[] = contractRoleNames,
): Promise<void> {
  const { from } = vault.readContext({});
  for (const role of new Set(roles)) {
    const { abi, label } = contractRoles[role];
    const request = { from, to: addresses[role], data: MOCK_INFO_SELECTOR };
    const info = await callContract(vault.rpc, request, "latest");
    const kind = "data" in info ? hexlify(info.data) : undefined;
    if (kind !== id(`hardhat-vault/Mock${abi}`)) {
      throw vaultError("VAULT_NOT_A_MOCK", {
        contract: label,
        address: addresses[role],
        network: vault.networkName,
      });
    }
  }
}

/** Checks that the network is in process or a development node. */
export async function requireDevelopmentNode(
  vault: VaultClient,
): Promise<void> {
  if (isInProcess(vault)) {
    return;
  }
  // First, so that an unreachable node is not reported as a live network.
  const chainId = await vault.chainId();
  if (!(await isDevelopmentNode(vault.rpc))) {
    const version = await vault.rpc.request("web3_clientVersion");
    throw vaultError("VAULT_LIVE_NETWORK", {
      network: vault.networkName,
      chainId,
      client: vault.rpc.redactor.quote(String(version)),
    });
  }
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

/** Places code without running constructors: the mocks have none. */
export async function placeCode(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[] = contractRoleNames,
): Promise<void> {
  if (isInProcess(vault)) {
    await nameInStacks(vault);
  }
  for (const role of roles) {
    const { deployedBytecode } = mockArtifacts[role];
    const params = [addresses[role], deployedBytecode];
    await vault.rpc.request("hardhat_setCode", params);
  }
}

/** The projects whose networks have the build info: one decoder serves all of them. */
const known = new WeakSet<object>();

/** Lets an in-process network name the mocks in the stack of a transaction that reverts. */
async function nameInStacks({
  connection: { provider },
  context: { artifacts, hooks },
}: VaultHost): Promise<void> {
  // Not in the provider's interface; `hardhat node` calls it after a compilation.
  const { addCompilationResult: add } = asRecord(provider);
  // For --gas-stats, Hardhat would measure every contract that it can name.
  const measures = await hooks.hasHandlers("network", "onGasMeasurement");
  if (typeof add !== "function" || measures || known.has(artifacts)) {
    return;
  }
  known.add(artifacts);
  const { buildInfo } = await import("./build-info.js");
  const json = brotliDecompressSync(Buffer.from(buildInfo, "base64"));
  const built = asRecord(JSON.parse(json.toString("utf8")));
  const { solcVersion, input, output } = built;
  try {
    await Reflect.apply(add, provider, [solcVersion, input, output]);
  } catch {
    // Names are not worth the failure of a test, with a Hardhat that takes another form.
  }
}

/** Sends calls by the network's `from`, else by its first account, until all are mined. */
export async function sendToMocks(
  vault: VaultClient,
  calls: readonly Call[],
): Promise<readonly Receipt[]> {
  const { rpc } = vault;
  const host = hasHost(vault) ? vault : undefined;
  const signer = await resolveSigner(rpc, host?.connection.networkConfig);
  return await sendCalls(vault, calls, {
    signer,
    failed: (problem) => scriptFailed(rpc, problem),
  });
}

function scriptFailed({ network }: RpcClient, text: string): VaultError {
  const problem = text.replace(/\.$/u, "");
  return vaultError("VAULT_MOCK_SCRIPT_FAILED", { network, problem });
}

/** Storing an order takes some 300,000 gas, and a transaction may have so much. */
const CALLS_PER_TRANSACTION = Number(TRANSACTION_GAS_CAP / 400_000n);

/**
 * Makes calls in order; the mock that runs a script can call the others. In process it
 * writes their effect to the state, and mines no block.
 */
export async function sendScript(
  vault: VaultClient,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): Promise<void> {
  const transactions: Call[] = [];
  for (let start = 0; start < script.length; start += CALLS_PER_TRANSACTION) {
    const part = script.slice(start, start + CALLS_PER_TRANSACTION);
    const calls = part.map(
      ({ role, data }) => [addresses[role], data] as const,
    );
    const data = mockInterfaces.vault.encodeFunctionData("script", [calls]);
    transactions.push({ to: calls[0]?.[0], data });
  }
  if (isInProcess(vault)) {
    await writeEffects(vault, transactions);
  } else {
    await sendToMocks(vault, transactions);
  }
}

/**
 * Writes what transactions would store, without sending them: a block would mine the
 * user's pending transactions and use up the time that the user set for the next one.
 */
async function writeEffects(
  vault: VaultHost,
  transactions: readonly Call[],
): Promise<void> {
  const { rpc } = vault;
  const gas = numberToHexString(configuredGasCap(vault) ?? TRANSACTION_GAS_CAP);
  for (const transaction of transactions) {
    const request = { from: ZeroAddress, gas, ...transaction };
    const called = await rpc.requestOrRevert("eth_call", [request, "latest"]);
    if ("reverted" in called) {
      throw scriptFailed(rpc, called.reverted.text);
    }
    const { pre, post } = await trace(
      rpc,
      "debug_traceCall",
      request,
      "latest",
      {
        tracer: "prestateTracer",
        tracerConfig: { diffMode: true },
      },
    );
    const [before, after] = [asRecord(pre), asRecord(post)];
    for (const address of Object.keys({ ...before, ...after })) {
      const { code, storage } = asRecord(after[address]);
      const stored = asRecord(storage);
      const earlier = asRecord(asRecord(before[address])["storage"]);
      if (code !== undefined) {
        await rpc.request("hardhat_setCode", [address, code]);
      }
      // A slot that becomes zero is in `pre` only; one that was zero in `post` only.
      for (const slot of Object.keys({ ...earlier, ...stored })) {
        const value = slot in stored ? BigInt(String(stored[slot])) : 0n;
        await rpc.request("hardhat_setStorageAt", [
          address,
          numberToHexString(BigInt(slot)),
          `0x${hexWord(value)}`,
        ]);
      }
    }
  }
}
