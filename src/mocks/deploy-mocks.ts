import { getAddress } from "ethers";

import { FixedAddresses } from "../client/addresses.js";
import { describeInput } from "../client/inputs.js";
import { invalidResponse, requestRpc } from "../client/rpc.js";
import type { HardhatVault } from "../connection/hardhat-vault.js";
import { vaultError } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { applyOverrides } from "./apply-overrides.js";
import {
  MockLiquidityPoolArtifact,
  MockTradingArtifact,
  MockUnderlyingAssetArtifact,
  MockVaultArtifact,
  MockVaultFactoryArtifact,
} from "./artifacts.js";
import { requireDevelopmentNode } from "./local-node.js";
import { createMockSender } from "./mock-sender.js";
import type { MockSender } from "./mock-sender.js";
import { MockVaultHandle } from "./mock-vault-handle.js";
import { requireMocks } from "./require-mocks.js";
import { isScenarioName, scenarios } from "./scenarios.js";
import type { ScenarioName } from "./scenarios.js";
import { calls, callsForState, encodeScript } from "./script.js";
import type { MockAddresses } from "./script.js";
import type { MockOverrides } from "./types.js";

export { MockVaultHandle } from "./mock-vault-handle.js";

/** Options of `deployMocks()`. */
export interface DeployMocksOptions {
  /** The canned state; `open-round` unless given. */
  readonly scenario?: ScenarioName | undefined;
  /** Changes to it. */
  readonly overrides?: MockOverrides | undefined;
  /**
   * Deploy also where it may cost money: on a node that is neither in process
   * nor anvil, `hardhat node` or Ganache. False unless given.
   */
  readonly allowLiveNetwork?: boolean | undefined;
}

/** What error texts say of addresses that `deployMocks()` bound. */
const SOURCE = "deployMocks()";

const artifacts = {
  underlyingAsset: MockUnderlyingAssetArtifact,
  publicPool: MockLiquidityPoolArtifact,
  privatePool: MockLiquidityPoolArtifact,
  trading: MockTradingArtifact,
  vaultFactory: MockVaultFactoryArtifact,
  vault: MockVaultArtifact,
} as const satisfies Record<ContractRole, unknown>;

/**
 * In process every role has one address, always the same, so that fixtures can
 * be loaded in any order and the binding still names code. They start with
 * "vault" in ASCII, where no deployment ends up. With checksums, on which viem
 * insists.
 */
export const inProcessMockAddresses: MockAddresses = {
  underlyingAsset: "0x7661756C74000000000000000000000000000001",
  publicPool: "0x7661756C74000000000000000000000000000002",
  privatePool: "0x7661756c74000000000000000000000000000003",
  trading: "0x7661756c74000000000000000000000000000004",
  vaultFactory: "0x7661756C74000000000000000000000000000005",
  vault: "0x7661756C74000000000000000000000000000006",
};

/** @see HardhatVault.deployMocks */
export async function deployMocks(
  vault: HardhatVault,
  {
    scenario = "open-round",
    overrides = {},
    allowLiveNetwork = false,
  }: DeployMocksOptions,
): Promise<MockVaultHandle> {
  if (!isScenarioName(scenario)) {
    throw vaultError("VAULT_UNKNOWN_SCENARIO", {
      scenario: describeInput(scenario),
      known: Object.keys(scenarios).join(", "),
    });
  }
  if (!allowLiveNetwork) {
    await requireDevelopmentNode(vault, "deploying mocks there costs money");
  }
  const { timestamp } = await vault.block("latest");
  const state = applyOverrides(
    scenarios[scenario](BigInt(timestamp)),
    overrides,
  );
  const sender = createMockSender(vault);
  const isInProcess = vault.connection.networkConfig.type === "edr-simulated";
  const addresses = isInProcess
    ? await placeMocks(vault, inProcessMockAddresses)
    : await deployToNode(vault, sender);
  await sender.send(
    encodeScript(addresses, [
      // Code at a fixed address may have served another scenario before.
      ...(isInProcess ? contractRoleNames.map(calls.reset) : []),
      ...callsForState(state, addresses),
    ]),
  );
  vault.connectionAddresses.bind(new FixedAddresses(addresses, SOURCE));
  return new MockVaultHandle({
    vault: vault.at(addresses, SOURCE),
    addresses,
    scenario,
    sender,
  });
}

/**
 * A handle for mocks that are there already, such as those of
 * `vault deploy-mocks`, at the addresses that the vault has now.
 *
 * @throws VaultError VAULT_NOT_A_MOCK, VAULT_CONTRACT_NOT_CONFIGURED and those
 * of a failed request
 */
export async function connectMocks(
  vault: HardhatVault,
): Promise<MockVaultHandle> {
  const addresses = await locateAll(vault);
  await requireMocks(vault, addresses, contractRoleNames);
  return new MockVaultHandle({
    vault: vault.at(addresses, "connectMocks()"),
    addresses,
    scenario: null,
    sender: createMockSender(vault),
  });
}

async function locateAll(vault: HardhatVault): Promise<MockAddresses> {
  const located = await Promise.all(
    contractRoleNames.map(
      async (role) => [role, (await vault.addressOf(role)).address] as const,
    ),
  );
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry
  return Object.fromEntries(located) as MockAddresses;
}

/** Puts the mocks' code at their addresses; they need no constructor. */
async function placeMocks(
  vault: HardhatVault,
  addresses: MockAddresses,
): Promise<MockAddresses> {
  await Promise.all(
    contractRoleNames.map(
      async (role) =>
        await requestRpc(vault.provider, vault.networkName, "hardhat_setCode", [
          addresses[role],
          artifacts[role].deployedBytecode,
        ]),
    ),
  );
  return addresses;
}

async function deployToNode(
  { networkName }: HardhatVault,
  sender: MockSender,
): Promise<MockAddresses> {
  const mined = await sender.send(
    contractRoleNames.map((role) => ({ data: artifacts[role].bytecode })),
  );
  const deployed = contractRoleNames.map((role, index) => {
    const address = mined[index]?.contractAddress;
    if (address === undefined || address === null) {
      throw invalidResponse(
        networkName,
        "eth_getTransactionReceipt",
        "a deployment has no contractAddress",
      );
    }
    return [role, getAddress(address)] as const;
  });
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry
  return Object.fromEntries(deployed) as MockAddresses;
}
