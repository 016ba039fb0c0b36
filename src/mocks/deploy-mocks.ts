import { resolve } from "node:path";

import { ZeroAddress, getAddress, isAddress } from "ethers";

import { fixedAddresses } from "../client/addresses.js";
import type { ContractAddresses } from "../client/addresses.js";
import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import { notOneOf } from "../client/inputs.js";
import { VaultClient } from "../client/vault-client.js";
import { fallbackTo, invalidArgument } from "../errors.js";
import {
  contractRoleNames,
  get,
  isContractRole,
  set,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { readFixture } from "./fixture.js";
import { MockVaultHandle } from "./handle.js";
import {
  hasHost,
  isInProcess,
  readClock,
  requireDevelopmentNode,
} from "./local-node.js";
import {
  addressesByRole,
  countScripts,
  inProcessAddressOf,
  mockArtifacts,
  placeMocks,
  requireMocks,
} from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import { sendToMocks } from "./mock-sender.js";
import { recordOrders } from "./record-orders.js";
import { requireScenario, scenarios } from "./scenarios.js";
import type { Scenario, ScenarioName } from "./scenarios.js";
import { call, callsForState, sendScript } from "./setters.js";
import type { ScriptCall } from "./setters.js";
import { applyOverrides } from "./state.js";
import type { MockOverrides } from "./types.js";

/** Options of `deployMocks()`. */
export interface DeployMocksOptions {
  /** The canned state. Default: `open-round`. */
  readonly scenario?: ScenarioName | undefined;
  /**
   * Replays what `vault capture` recorded, instead of a scenario: a path, from
   * the project's root unless absolute. Times are those of the recording.
   */
  readonly fixture?: string | undefined;
  /** Changes to it. */
  readonly overrides?: MockOverrides | undefined;
  /**
   * Places the mocks' code at these addresses, in place of what is there. Only
   * in process, on anvil and on Hardhat's node.
   */
  readonly at?: MockAddresses | undefined;
  /**
   * Deploy also where it may cost money: on a node that is neither in process
   * nor anvil or `hardhat node`. Default: false.
   */
  readonly allowLiveNetwork?: boolean | undefined;
}

/** Options of `mockAt()`; without a scenario, the mock returns what it replaces. */
export type MockAtOptions = Pick<DeployMocksOptions, "scenario" | "overrides">;

const DEFAULT_SCENARIO = "open-round";

/** What error texts say of addresses that `deployMocks()` bound. */
const SOURCE = "deployMocks()";

/**
 * Deploys the six mocks over a vault, or over any EIP-1193 provider: Hardhat 2's
 * `hre.network.provider`, viem's test client, a node's.
 *
 * @returns The handle that scripts them; its `vault` reads them. A vault of the
 * plugin is bound to them, too.
 * @throws VaultError VAULT_UNKNOWN_SCENARIO, VAULT_LIVE_NETWORK,
 * VAULT_NO_ACCOUNT, VAULT_MOCK_SCRIPT_FAILED, VAULT_INVALID_ARGUMENT,
 * VAULT_INVALID_FIXTURE and those of a failed request
 *
 * @example
 * ```ts
 * const mocks = await deployMocks(provider, { scenario: "expired-round" });
 * (await mocks.vault.getLatestRoundInfo()).settled;
 * // false
 * ```
 *
 * @example
 * ```ts
 * await deployMocks(vault, { overrides: { volume: 5n } });
 * await vault.queryVolume();
 * // 5n
 * ```
 */
export async function deployMocks<VaultT extends VaultClient = VaultClient>(
  target: VaultT | Eip1193Provider,
  options: DeployMocksOptions = {},
): Promise<MockVaultHandle<VaultT>> {
  const vault = vaultOf<VaultT>(target);
  return await vault.rpc.inOrder(async () => await deploy(vault, options));
}

function vaultOf<VaultT extends VaultClient>(
  target: VaultT | Eip1193Provider,
  contracts: ContractAddresses = {},
): VaultT {
  return "request" in target
    ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a provider names no other kind of vault
      (new VaultClient(target, contracts) as VaultT)
    : target;
}

async function deploy<VaultT extends VaultClient>(
  vault: VaultT,
  options: DeployMocksOptions,
): Promise<MockVaultHandle<VaultT>> {
  const { scenario, fixture, overrides = {}, at } = options;
  const createState = await chooseState(vault, scenario, fixture);
  if (options.allowLiveNetwork !== true) {
    await requireDevelopmentNode(
      vault,
      "deploying mocks there costs money",
      "Or pass the option `allowLiveNetwork`, to pay for it. Nothing was sent.",
    );
  }
  const places = await findPlaces(vault, at);
  const state = applyOverrides(createState(await readClock(vault)), overrides);
  if (places !== undefined) {
    await placeMocks(vault, places);
  }
  const addresses = places ?? (await deployToNode(vault));
  const { unrecorded, recording } = await recordOrders(vault, state.orders);
  await load(vault, addresses, contractRoleNames, [
    ...callsForState({ ...state, orders: unrecorded }, overrides, addresses),
    ...recording,
  ]);
  if (hasHost(vault)) {
    vault.bind(fixedAddresses(addresses, SOURCE));
  }
  return handleOf(
    vault,
    addresses,
    SOURCE,
    fixture === undefined ? (scenario ?? DEFAULT_SCENARIO) : null,
  );
}

function handleOf<VaultT extends VaultClient>(
  vault: VaultT,
  addresses: MockAddresses,
  source: string,
  scenario?: ScenarioName | null,
): MockVaultHandle<VaultT> {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- at() of every vault makes one of its own kind
  const bound = vault.at(addresses, source) as VaultT;
  return new MockVaultHandle(bound, addresses, scenario);
}

/** Brings mocks into a state; code at an address may have served another one. */
async function load(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
  calls: readonly ScriptCall[],
): Promise<void> {
  await sendScript(vault, addresses, [
    ...roles.map((role) => call(role, "reset")),
    ...calls.filter(({ role }) => roles.includes(role)),
  ]);
}

async function chooseState(
  vault: VaultClient,
  scenario: ScenarioName | undefined,
  fixture: string | undefined,
): Promise<Scenario> {
  if (fixture === undefined) {
    return scenarios[requireScenario(scenario ?? DEFAULT_SCENARIO)];
  }
  if (scenario !== undefined) {
    throw invalidArgument(SOURCE, "it takes a scenario or a fixture, not both");
  }
  const root = hasHost(vault) ? vault.context.config.paths.root : "";
  const state = await readFixture(resolve(root, fixture));
  return () => state;
}

/**
 * A handle for mocks that are there already, such as those of
 * `vault deploy-mocks`, at the addresses that the vault has now, or that are
 * given for a provider.
 *
 * @throws VaultError VAULT_NOT_A_MOCK, VAULT_CONTRACT_NOT_CONFIGURED and those
 * of a failed request
 *
 * @example
 * ```ts
 * const mocks = await connectMocks(vault);
 * await mocks.set({ volume: 5n });
 * await vault.queryVolume();
 * // 5n
 * ```
 *
 * @example
 * ```ts
 * const { addresses } = await deployMocks(provider);
 * const mocks = await connectMocks(provider, addresses);
 * await mocks.set({ volume: 5n });
 * await mocks.vault.queryVolume();
 * // 5n
 * ```
 */
export async function connectMocks<VaultT extends VaultClient = VaultClient>(
  target: VaultT | { connect(): Promise<VaultT> } | Eip1193Provider,
  contracts?: ContractAddresses,
): Promise<MockVaultHandle<VaultT>> {
  const vault = vaultOf<VaultT>(
    "connect" in target ? await target.connect() : target,
    contracts,
  );
  const addresses = await addressesByRole(
    async (role) => (await vault.addressOf(role)).address,
  );
  const counts = await countScripts(vault, addresses);
  requireMocks(vault, addresses, contractRoleNames, counts);
  return handleOf(vault, addresses, "connectMocks()");
}

/** Where to place code, or undefined if contracts have to be deployed. */
async function findPlaces(
  vault: VaultClient,
  at: ContractAddresses | undefined,
): Promise<MockAddresses | undefined> {
  if (at !== undefined) {
    await requireDevelopmentNode(vault);
    const placed = vault.at(at, "at");
    return await addressesByRole(
      async (role) =>
        (await placed.addressOf(role, "deployMocks({ at })")).address,
    );
  }
  const instance = hasHost(vault) ? vault.instanceName : undefined;
  return isInProcess(vault)
    ? await addressesByRole((role) => inProcessAddressOf(role, instance))
    : undefined;
}

async function deployToNode(vault: VaultClient): Promise<MockAddresses> {
  const mined = await sendToMocks(
    vault,
    contractRoleNames.map((role) => ({ data: mockArtifacts[role].bytecode })),
  );
  return await addressesByRole((role) => {
    const address = mined[contractRoleNames.indexOf(role)]?.contractAddress;
    if (!isAddress(address)) {
      throw vault.rpc
        .parser("eth_getTransactionReceipt")
        .invalid("a deployment has no contractAddress that is one");
    }
    return getAddress(address);
  });
}

/** @see HardhatVault.mockAt */
export async function mockAt<VaultT extends VaultClient>(
  vault: VaultT,
  role: ContractRole,
  options: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  return await vault.rpc.inOrder(
    async () => await replaceByMock(vault, role, options),
  );
}

async function replaceByMock<VaultT extends VaultClient>(
  vault: VaultT,
  role: ContractRole,
  { scenario, overrides = {} }: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  if (!isContractRole(role)) {
    throw notOneOf("role", contractRoleNames, role);
  }
  const createState = scenarios[requireScenario(scenario ?? DEFAULT_SCENARIO)];
  await requireDevelopmentNode(vault);
  await vault.addressOf(role, "mockAt()");
  const addresses = await addressesByRole(
    async (each) =>
      await vault
        .addressOf(each)
        .then(
          ({ address }) => address,
          fallbackTo(ZeroAddress, isNotConfigured),
        ),
  );
  const replaced =
    scenario === undefined ? await readingsOfRole(vault, role) : {};
  const original = createState(await readClock(vault));
  const state = applyOverrides(applyOverrides(original, replaced), overrides);

  await placeMocks(vault, addresses, [role]);
  const calls = callsForState(state, overrides, addresses);
  await load(vault, addresses, [role], calls);
  return new MockVaultHandle(vault, addresses);
}

/** What a contract answers now, as far as it does. */
async function readingsOfRole(
  vault: VaultClient,
  wanted: ContractRole,
): Promise<MockOverrides> {
  const snapshot = await vault.snapshot();
  const readings: Record<string, unknown> = {};
  for (const { role, path } of standaloneQueries) {
    const value = get(snapshot, path);
    if (role === wanted && !isFailedReading(value)) {
      set(readings, path, value);
    }
  }
  // The keys of readings are those of a scenario; overrides are checked anyway.
  return readings;
}
