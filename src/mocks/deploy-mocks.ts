import { resolve } from "node:path";

import { ZeroAddress } from "ethers";

import { checkOptions, option } from "../client/inputs.js";
import type { OptionsOf } from "../client/inputs.js";
import { MOCKS_SOURCE, fixedAddresses } from "../client/addresses.js";
import type { ContractAddresses } from "../client/addresses.js";
import { isFailedReading, isNotConfigured } from "../client/read-at-block.js";
import { VaultClient } from "../client/vault-client.js";
import { fallbackTo, invalidArgument } from "../errors.js";
import {
  contractRoleNames,
  contractRoles,
  get,
  set,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import type { Eip1193Provider } from "../rpc/rpc-client.js";
import { readFixture } from "./fixture.js";
import { MockVaultHandle } from "./handle.js";
import { addressesOf, requireMocks } from "./deployed-mocks.js";
import { hasHost, isInProcess } from "../host.js";
import {
  call,
  changeMocks,
  inProcessAddresses,
  mockArtifacts,
  placeCode,
  readClock,
  requireDevelopmentNode,
} from "./mock-contracts.js";
import type { MockAddresses } from "./deployed-mocks.js";
import { asRecord } from "../json.js";
import { sendScript, sendToMocks } from "./mock-sender.js";
import { requireScenario, scenarios } from "./scenarios.js";
import type { Scenario, ScenarioName } from "./scenarios.js";
import { applyChanges, callsFor, checkChanges } from "./state.js";
import type { StateChanges } from "./state.js";
import type { MockOverrides, MockState } from "./types.js";
import { requireOneOf } from "./values.js";

const mockAtOptions = {
  /** Changes to the scenario or the fixture. */
  overrides: option<MockOverrides>(),
};

/** Options of `mockAt()`. */
export interface MockAtOptions extends OptionsOf<typeof mockAtOptions> {}

const deployOptions = {
  ...mockAtOptions,
  /** State to begin with. Default: `open-round`. */
  scenario: option<ScenarioName>(),
  /**
   * File of `vault capture` to replay instead of a scenario, relative to the
   * project's root. The times are the recorded ones.
   */
  fixture: option<string>(),
  /**
   * Addresses where the mocks replace the code; in process, on anvil and on
   * `hardhat node` only. Default: fixed addresses in process, else new ones.
   */
  at: option<MockAddresses>(),
  /** Deploy also to a network where it costs money. Default: false. */
  allowLiveNetwork: option<boolean>(),
};

/** Options of `deployMocks()`: a scenario or a fixture, and more. */
export interface DeployMocksOptions extends OptionsOf<typeof deployOptions> {}

const DEFAULT_SCENARIO = "open-round";

/**
 * Deploys the six mocks over a vault or any EIP-1193 provider, such as Hardhat
 * 2's `hre.network.provider` or viem's test client.
 *
 * @returns The handle that scripts them; its `vault` reads them.
 * @throws VaultError VAULT_INVALID_ENUM, VAULT_LIVE_NETWORK,
 * VAULT_NO_SIGNER, VAULT_MOCK_SCRIPT_FAILED, VAULT_INVALID_ARGUMENT,
 * VAULT_INVALID_FIXTURE and errors of a request
 *
 * @example
 * ```ts
 * const mocks = await deployMocks(provider, { scenario: "expired-round" });
 * (await mocks.vault.getLatestRoundInfo()).settled;
 * // false
 * ```
 */
export async function deployMocks<VaultT extends VaultClient = VaultClient>(
  vaultOrProvider: VaultT | Eip1193Provider,
  options: DeployMocksOptions = {},
): Promise<MockVaultHandle<VaultT>> {
  checkOptions(MOCKS_SOURCE, options, deployOptions);
  const vault = vaultOf<VaultT>(vaultOrProvider);
  return await changeMocks(
    vault,
    async () => await deployInOrder(vault, options),
  );
}

async function deployInOrder<VaultT extends VaultClient>(
  vault: VaultT,
  options: DeployMocksOptions,
): Promise<MockVaultHandle<VaultT>> {
  const { fixture, at, allowLiveNetwork } = options;
  const overrides = checkChanges(options.overrides ?? {});
  const createState = await chooseState(vault, options);
  if (at !== undefined) {
    await requireDevelopmentNode(vault);
  } else if (allowLiveNetwork !== true) {
    await requireDevelopmentNode(
      vault,
      "deploying mocks there costs money",
      "If you want to pay for it, pass `allowLiveNetwork` to deployMocks(), or run `npx hardhat vault deploy-mocks --yes`. Nothing was sent.",
    );
  }
  const clock = await readClock(vault);
  const state = await applyChanges(createState(clock), overrides);
  const bound = await placeMocks(vault, at);
  const addresses = await addressesOf(bound, MOCKS_SOURCE);
  await load(vault, addresses, state, overrides);
  if (hasHost(vault)) {
    vault.bind(fixedAddresses(addresses, MOCKS_SOURCE));
  }
  const { scenario = DEFAULT_SCENARIO } = options;
  const name = fixture === undefined ? scenario : null;
  return new MockVaultHandle(bound, addresses, name);
}

function vaultOf<VaultT extends VaultClient>(
  vaultOrProvider: VaultT | Eip1193Provider,
  contracts: ContractAddresses = {},
): VaultT {
  const isVault = vaultOrProvider instanceof VaultClient;
  // for a provider, VaultT is VaultClient
  return (
    isVault ? vaultOrProvider : new VaultClient(vaultOrProvider, contracts)
  ) as VaultT;
}

/** Places the code in process or at given addresses; elsewhere deploys it. */
async function placeMocks<VaultT extends VaultClient>(
  vault: VaultT,
  at: ContractAddresses | undefined,
): Promise<VaultT> {
  if (at === undefined && !isInProcess(vault)) {
    const bytecodes = contractRoleNames.map((role) => ({
      data: mockArtifacts[role].bytecode,
    }));
    const mined = await sendToMocks(vault, bytecodes);
    const deployed = contractRoleNames.map((role, index): [string, string] => [
      role,
      String(mined[index]?.contractAddress),
    ]);
    return vault.at(Object.fromEntries(deployed), MOCKS_SOURCE);
  }
  const instance = hasHost(vault) ? vault.instanceName : undefined;
  const bound = vault.at(at ?? inProcessAddresses(instance), MOCKS_SOURCE);
  const addresses = await addressesOf(bound, "deployMocks({ at })");
  await placeCode(vault, addresses, contractRoleNames);
  return bound;
}

/** Loads a state; resets the mocks first, because they may hold an earlier one. */
async function load(
  vault: VaultClient,
  addresses: MockAddresses,
  state: MockState,
  { settlement: { settledPrice, settledAmount } = {} }: StateChanges,
  roles: readonly ContractRole[] = contractRoleNames,
): Promise<void> {
  const isOfScenario =
    settledPrice === undefined && settledAmount === undefined;
  const script = [
    ...contractRoleNames.map((role) => call(role, "reset")),
    call("vault", "setFactory", addresses.vaultFactory),
    ...callsFor(state, isOfScenario),
  ].filter(({ role }) => roles.includes(role));
  await sendScript(vault, addresses, script);
}

async function chooseState(
  vault: VaultClient,
  { scenario, fixture }: DeployMocksOptions,
): Promise<Scenario> {
  if (fixture === undefined) {
    return scenarios[requireScenario(scenario ?? DEFAULT_SCENARIO)];
  }
  if (scenario !== undefined) {
    throw invalidArgument(
      MOCKS_SOURCE,
      "it takes a scenario or a fixture, not both",
    );
  }
  const root = hasHost(vault) ? vault.context.config.paths.root : "";
  const state = await readFixture(resolve(root, fixture));
  return () => state;
}

/**
 * Returns a handle for mocks that are already deployed, for example by
 * `vault deploy-mocks`.
 *
 * @param contracts Their addresses, if a provider is given.
 * @throws VaultError VAULT_NOT_A_MOCK, VAULT_CONTRACT_NOT_CONFIGURED and errors
 * of a request
 *
 * @example
 * ```ts
 * const mocks = await connectMocks(vault);
 * await mocks.set({ volume: 5n });
 * await vault.queryVolume();
 * // 5n
 * ```
 */
export async function connectMocks(
  provider: Eip1193Provider,
  contracts: Readonly<Record<ContractRole, string>>,
): Promise<MockVaultHandle>;
export async function connectMocks<VaultT extends VaultClient>(
  vault: VaultT | { connect(): Promise<VaultT> },
): Promise<MockVaultHandle<VaultT>>;
export async function connectMocks<VaultT extends VaultClient>(
  vaultOrProvider: VaultT | { connect(): Promise<VaultT> } | Eip1193Provider,
  contracts?: ContractAddresses,
): Promise<MockVaultHandle<VaultT>> {
  const vault = vaultOf<VaultT>(
    isLazyVault(vaultOrProvider)
      ? await vaultOrProvider.connect()
      : vaultOrProvider,
    contracts,
  );
  const addresses = await addressesOf(vault, "Scripting mocks");
  await requireMocks(vault, addresses, contractRoleNames);
  const bound = vault.at(addresses, "connectMocks()");
  return new MockVaultHandle(bound, addresses);
}

function isLazyVault<VaultT extends VaultClient>(
  vaultOrProvider: VaultT | { connect(): Promise<VaultT> } | Eip1193Provider,
): vaultOrProvider is { connect(): Promise<VaultT> } {
  const { connect, request } = asRecord(vaultOrProvider);
  return typeof connect === "function" && request === undefined;
}

/** @see HardhatVault.mockAt */
export async function mockAt<VaultT extends VaultClient>(
  vault: VaultT,
  role: ContractRole,
  options: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  checkOptions("mockAt()", options, mockAtOptions);
  requireOneOf(contractRoleNames, role, "role");
  const overrides = checkChanges(options.overrides ?? {});
  return await changeMocks(vault, async () => {
    await requireDevelopmentNode(vault);
    await vault.addressOf(role, "mockAt()");
    // The zero address fails later, if the handle scripts that contract.
    const addresses = await addressesOf(
      vault,
      "mockAt()",
      fallbackTo(ZeroAddress, isNotConfigured),
    );
    const original: Record<string, unknown> = {};
    const snapshot = await vault.snapshot();
    for (const { path } of standaloneQueries) {
      const answer = get(snapshot, path);
      set(original, path, isFailedReading(answer) ? undefined : answer);
    }
    const scenario = scenarios[DEFAULT_SCENARIO](await readClock(vault));
    const before = await applyChanges(scenario, original);
    const state = await applyChanges(before, overrides);
    requireOnly(role, before, state);
    await placeCode(vault, addresses, [role]);
    await load(vault, addresses, state, overrides, [role]);
    return new MockVaultHandle(vault, addresses);
  });
}

/** Refuses changes to a contract that is not replaced, which would be lost. */
function requireOnly(
  replaced: ContractRole,
  before: MockState,
  after: MockState,
) {
  const kept = new Set(callsFor(before).map(({ role, data }) => role + data));
  const other = callsFor(after).find(
    ({ role, data }) => role !== replaced && !kept.has(role + data),
  );
  if (other !== undefined) {
    throw invalidArgument(
      "overrides",
      `mockAt("${replaced}") does not replace the ${contractRoles[other.role].label} contract, which they change`,
      `Omit these changes, or pass them to mockAt("${other.role}").`,
    );
  }
}
