import { FixedAddresses } from "../client/addresses.js";
import { describeInput } from "../client/inputs.js";
import { requestRpc } from "../client/rpc.js";
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
import { InProcessSender, NodeSender, firstSigner } from "./mock-sender.js";
import { MockVaultHandle } from "./mock-vault-handle.js";
import { isScenarioName, scenarios } from "./scenarios.js";
import type { ScenarioName } from "./scenarios.js";
import { calls, callsForState, mockFactories } from "./script.js";
import type { MockAddresses } from "./script.js";
import type { MockOverrides } from "./types.js";

export { MockVaultHandle } from "./mock-vault-handle.js";

/** Options of `deployMocks()`. */
export interface DeployMocksOptions {
  /** The canned state; `open-round` unless given. */
  readonly scenario?: ScenarioName | undefined;
  /** Changes to it. */
  readonly overrides?: MockOverrides | undefined;
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
 * "vault" in ASCII, where no deployment ends up.
 */
export const inProcessMockAddresses: MockAddresses = {
  underlyingAsset: "0x7661756C74000000000000000000000000000001",
  publicPool: "0x7661756C74000000000000000000000000000002",
  privatePool: "0x7661756C74000000000000000000000000000003",
  trading: "0x7661756C74000000000000000000000000000004",
  vaultFactory: "0x7661756C74000000000000000000000000000005",
  vault: "0x7661756C74000000000000000000000000000006",
};

/** @see HardhatVault.deployMocks */
export async function deployMocks(
  vault: HardhatVault,
  { scenario = "open-round", overrides = {} }: DeployMocksOptions,
): Promise<MockVaultHandle> {
  if (!isScenarioName(scenario)) {
    throw vaultError("VAULT_UNKNOWN_SCENARIO", {
      scenario: describeInput(scenario),
      known: Object.keys(scenarios).join(", "),
    });
  }
  const { timestamp } = await vault.block("latest");
  const state = applyOverrides(
    scenarios[scenario](BigInt(timestamp)),
    overrides,
  );
  const isInProcess = vault.connection.networkConfig.type === "edr-simulated";
  const addresses = isInProcess
    ? await placeMocks(vault)
    : await deployToNode(vault);
  const handle = new MockVaultHandle({
    vault: vault.at(addresses, SOURCE),
    addresses,
    scenario,
    sender: isInProcess ? new InProcessSender(vault) : new NodeSender(vault),
  });
  await handle.script(
    // Code at a fixed address may have served another scenario before.
    ...(isInProcess ? contractRoleNames.map(calls.reset) : []),
    ...callsForState(state, addresses),
  );
  vault.connectionAddresses.bind(new FixedAddresses(addresses, SOURCE));
  return handle;
}

/** Puts the mocks' code at their addresses; they need no constructor. */
async function placeMocks(vault: HardhatVault): Promise<MockAddresses> {
  await Promise.all(
    contractRoleNames.map(
      async (role) =>
        await requestRpc(vault.provider, vault.networkName, "hardhat_setCode", [
          inProcessMockAddresses[role],
          artifacts[role].deployedBytecode,
        ]),
    ),
  );
  return inProcessMockAddresses;
}

async function deployToNode(vault: HardhatVault): Promise<MockAddresses> {
  const signer = await firstSigner(vault);
  const addresses: Partial<Record<ContractRole, string>> = {};
  for (const role of contractRoleNames) {
    const contract = await new mockFactories[role](signer).deploy();
    await contract.waitForDeployment();
    addresses[role] = await contract.getAddress();
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop has set every role
  return addresses as MockAddresses;
}
