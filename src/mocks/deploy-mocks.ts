import path from "node:path";

import { getAddress } from "ethers";

import { fixedAddresses, requireAddress } from "../client/addresses.js";
import type { ContractAddresses } from "../client/addresses.js";
import { describeInput } from "../client/inputs.js";
import { invalidResponse } from "../rpc/request.js";
import type { VaultHost } from "../host.js";
import { vaultError } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import { applyOverrides } from "./state.js";
import {
  requireControllableNode,
  requireDevelopmentNode,
} from "./local-node.js";
import { createMockSender } from "./mock-sender.js";
import type { MockSender } from "./mock-sender.js";
import { MockVaultHandle } from "./handle.js";
import {
  inProcessMockAddresses,
  mockArtifacts,
  placeMocks,
  requireDistinct,
} from "./place-mocks.js";
import { requireMocks } from "./require-mocks.js";
import { requireScenario, scenarios } from "./scenarios.js";
import type { ScenarioName } from "./scenarios.js";
import {
  addressesByRole,
  calls,
  callsForState,
  encodeScript,
} from "./setters.js";
import type { MockAddresses } from "./setters.js";
import type { MockOverrides, MockState } from "./types.js";

/** Options of `deployMocks()`. */
export interface DeployMocksOptions {
  /** The canned state; `open-round` unless given. */
  readonly scenario?: ScenarioName | undefined;
  /**
   * Replays what `vault capture` recorded, instead of a scenario: a path, from
   * the project's root unless absolute. Times are those of the recording.
   */
  readonly fixture?: string | undefined;
  /** Changes to it. */
  readonly overrides?: MockOverrides | undefined;
  /**
   * `"configured"`: place the mocks' code at the addresses of the network's
   * configuration (of a fork: of the network that it forks), in place of what
   * is there. Only in process, on anvil and on `hardhat node`.
   */
  readonly at?: "configured" | undefined;
  /**
   * Deploy also where it may cost money: on a node that is neither in process
   * nor anvil, `hardhat node` or Ganache. False unless given.
   */
  readonly allowLiveNetwork?: boolean | undefined;
}

/** A vault whose `at()` gives one of its own kind. */
interface Rebindable<VaultT extends VaultHost> extends VaultHost {
  at(contracts: ContractAddresses, source?: string): VaultT;
}

const DEFAULT_SCENARIO = "open-round";

/** What error texts say of addresses that `deployMocks()` bound. */
const SOURCE = "deployMocks()";

/** @see HardhatVault.deployMocks */
export async function deployMocks<VaultT extends VaultHost>(
  vault: Rebindable<VaultT>,
  {
    scenario,
    fixture,
    overrides = {},
    at,
    allowLiveNetwork = false,
  }: DeployMocksOptions,
): Promise<MockVaultHandle<VaultT>> {
  const createState = await chooseState(vault, scenario, fixture);
  if (!allowLiveNetwork) {
    await requireDevelopmentNode(vault, "deploying mocks there costs money");
  }
  const places = await findPlaces(vault, at);
  const { timestamp } = await vault.block("latest");
  const state = applyOverrides(createState(BigInt(timestamp)), overrides);
  const sender = createMockSender(vault);
  if (places !== undefined) {
    await placeMocks(vault, places);
  }
  const addresses = places ?? (await deployToNode(vault, sender));
  await sender.send(
    encodeScript(addresses, [
      // Code at a fixed address may have served another scenario before.
      ...(places === undefined ? [] : contractRoleNames.map(calls.reset)),
      ...callsForState(state, addresses),
    ]),
  );
  vault.bind(fixedAddresses(addresses, SOURCE));
  return new MockVaultHandle({
    vault: vault.at(addresses, SOURCE),
    addresses,
    scenario: fixture === undefined ? (scenario ?? DEFAULT_SCENARIO) : null,
    sender,
  });
}

async function chooseState(
  vault: VaultHost,
  scenario: ScenarioName | undefined,
  fixture: string | undefined,
): Promise<(chainTime: bigint) => MockState> {
  if (fixture === undefined) {
    return scenarios[requireScenario(scenario ?? DEFAULT_SCENARIO)];
  }
  if (scenario !== undefined) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "deployMocks()",
      problem: "it takes a scenario or a fixture, not both",
    });
  }
  // Loaded here since only fixtures need the validation library.
  const { readFixture } = await import("./fixture.js");
  const state = await readFixture(
    path.resolve(vault.context.config.paths.root, fixture),
  );
  return () => state;
}

/**
 * A handle for mocks that are there already, such as those of
 * `vault deploy-mocks`, at the addresses that the vault has now.
 *
 * @throws VaultError VAULT_NOT_A_MOCK, VAULT_CONTRACT_NOT_CONFIGURED and those
 * of a failed request
 */
export async function connectMocks<VaultT extends VaultHost>(
  vault: Rebindable<VaultT>,
): Promise<MockVaultHandle<VaultT>> {
  const addresses = await addressesByRole(
    async (role) => (await vault.addressOf(role)).address,
  );
  await requireMocks(vault, addresses, contractRoleNames);
  return new MockVaultHandle({
    vault: vault.at(addresses, "connectMocks()"),
    addresses,
    scenario: null,
    sender: createMockSender(vault),
  });
}

/** Where to place code, or undefined where contracts have to be deployed. */
async function findPlaces(
  vault: VaultHost,
  at: unknown,
): Promise<MockAddresses | undefined> {
  if (at === "configured") {
    await requireControllableNode(
      vault,
      "mocks take the place of contracts only on a chain that is yours",
    );
    return await configuredAddresses(vault);
  }
  if (at !== undefined) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: "at",
      allowed: "configured",
      value: describeInput(at),
    });
  }
  return vault.connection.networkConfig.type === "edr-simulated"
    ? inProcessMockAddresses
    : undefined;
}

/** Where production has the contracts, whatever is bound now. */
async function configuredAddresses(vault: VaultHost): Promise<MockAddresses> {
  const addresses = await addressesByRole(
    async (role) =>
      (
        await requireAddress(vault.productionAddresses, role, {
          operation: 'deployMocks({ at: "configured" })',
          network: vault.networkName,
        })
      ).address,
  );
  requireDistinct(addresses, contractRoleNames);
  return addresses;
}

async function deployToNode(
  { networkName }: VaultHost,
  sender: MockSender,
): Promise<MockAddresses> {
  const mined = await sender.send(
    contractRoleNames.map((role) => ({ data: mockArtifacts[role].bytecode })),
  );
  return await addressesByRole((role) => {
    const address = mined[contractRoleNames.indexOf(role)]?.contractAddress;
    if (address === undefined || address === null) {
      throw invalidResponse(
        networkName,
        "eth_getTransactionReceipt",
        "a deployment has no contractAddress",
      );
    }
    return getAddress(address);
  });
}
