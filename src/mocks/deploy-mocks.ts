import { resolve } from "node:path";

import { ZeroAddress, getAddress, isAddress } from "ethers";

import { fixedAddresses, requireAddress } from "../client/addresses.js";
import type { ContractAddresses } from "../client/addresses.js";
import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import { notOneOf } from "../client/inputs.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { VaultClient } from "../client/vault-client.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { invalidArgument, fallbackTo } from "../errors.js";
import {
  contractRoleNames,
  isContractRole,
  set,
  get,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { applyOverrides } from "./state.js";
import { readClock, requireDevelopmentNode } from "./local-node.js";
import { inOrder } from "../rpc/in-order.js";
import { createMockSender } from "./mock-sender.js";
import type { MockSender } from "./mock-sender.js";
import { readFixture } from "./fixture.js";
import { MockVaultHandle } from "./handle.js";
import { recordOrders } from "./record-orders.js";
import {
  addressesByRole,
  countScripts,
  inProcessAddressOf,
  mockArtifacts,
  placeMocks,
  requireDistinct,
  requireMocks,
} from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import { requireScenario, scenarios } from "./scenarios.js";
import type { ScenarioName } from "./scenarios.js";
import { call, callsForState, encodeBatch, inBatches } from "./setters.js";
import type { ScriptCall } from "./setters.js";
import { isInProcess } from "./types.js";
import type { MockHost, MockOverrides, MockState } from "./types.js";

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
   * Places the mocks' code at these addresses, in place of what is there. Only
   * in process, on anvil and on Hardhat's node.
   */
  readonly at?: MockAddresses | undefined;
  /**
   * Deploy also where it may cost money: on a node that is neither in process
   * nor anvil or `hardhat node`. False unless given.
   */
  readonly allowLiveNetwork?: boolean | undefined;
}

/** Options of `mockAt()`; without a scenario, the mock returns what it replaces. */
export type MockAtOptions = Pick<DeployMocksOptions, "scenario" | "overrides">;

/** A vault whose `at()` gives one of its own kind. */
export interface MockableVault<VaultT extends MockHost> extends MockHost {
  at(contracts: ContractAddresses, source?: string): VaultT;
}

/** A vault that is not open yet, as `hre.vault`. */
export interface UnopenedVault<VaultT extends MockHost> {
  connect(): Promise<MockableVault<VaultT>>;
}

const DEFAULT_SCENARIO = "open-round";

/** What error texts say of addresses that `deployMocks()` bound. */
const SOURCE = "deployMocks()";

/**
 * Deploys the six mocks over any EIP-1193 provider: Hardhat 2's
 * `hre.network.provider`, viem's test client, a node's.
 *
 * @returns The handle that scripts them; its `vault` reads them.
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
 */
export async function deployMocks(
  provider: Eip1193Provider,
  options?: DeployMocksOptions,
): Promise<MockVaultHandle<VaultClient>>;
/**
 * Like `vault.deployMocks()`.
 *
 * @example
 * ```ts
 * await deployMocks(vault, { overrides: { volume: 5n } });
 * await vault.queryVolume();
 * // 5n
 * ```
 */
export async function deployMocks<VaultT extends MockHost>(
  vault: MockableVault<VaultT>,
  options?: DeployMocksOptions,
): Promise<MockVaultHandle<VaultT>>;
export async function deployMocks(
  target: Eip1193Provider | MockableVault<MockHost>,
  options: DeployMocksOptions = {},
): Promise<MockVaultHandle> {
  const vault = isProvider(target) ? new VaultClient(target, {}) : target;
  return await inOrder(vault, async () => await deploy(vault, options));
}

function isProvider(target: object): target is Eip1193Provider {
  return "request" in target && typeof target.request === "function";
}

async function deploy(
  vault: MockHost,
  {
    scenario,
    fixture,
    overrides = {},
    at,
    allowLiveNetwork = false,
  }: DeployMocksOptions,
): Promise<MockVaultHandle> {
  const createState = await chooseState(vault, scenario, fixture);
  if (!allowLiveNetwork) {
    await requireDevelopmentNode(
      vault,
      "deploying mocks there costs money",
      "Or pass the option `allowLiveNetwork`, to pay for it. Nothing was sent.",
    );
  }
  const places = await findPlaces(vault, at);
  const whole = applyOverrides(createState(await readClock(vault)), overrides);
  const send = createMockSender(vault);
  if (places !== undefined) {
    await placeMocks(vault, places);
  }
  const addresses = places ?? (await deployToNode(vault, send));
  const { state, recording } = await recordOrders(vault, whole);
  await load(send, addresses, contractRoleNames, [
    ...callsForState(state, addresses),
    ...recording,
  ]);
  vault.bind?.(fixedAddresses(addresses, SOURCE));
  return new MockVaultHandle(
    vault.at(addresses, SOURCE),
    addresses,
    send,
    fixture === undefined ? (scenario ?? DEFAULT_SCENARIO) : null,
  );
}

/** Brings mocks into a state; code at an address may have served another one. */
async function load(
  send: MockSender,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
  calls: readonly ScriptCall[],
): Promise<void> {
  const script = [
    ...roles.map((role) => call(role, "reset")),
    ...calls.filter(({ role }) => roles.includes(role)),
  ];
  await send(inBatches(script).map((batch) => encodeBatch(addresses, batch)));
}

async function chooseState(
  vault: MockHost,
  scenario: ScenarioName | undefined,
  fixture: string | undefined,
): Promise<(chainTime: bigint) => MockState> {
  if (fixture === undefined) {
    return scenarios[requireScenario(scenario ?? DEFAULT_SCENARIO)];
  }
  if (scenario !== undefined) {
    throw invalidArgument(
      "deployMocks()",
      "it takes a scenario or a fixture, not both",
    );
  }
  const state = await readFixture(
    resolve(vault.context?.config.paths.root ?? "", fixture),
  );
  return () => state;
}

/**
 * A handle for mocks that are there already, such as those of
 * `vault deploy-mocks`, at the addresses that the vault has now.
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
 */
export async function connectMocks<VaultT extends MockHost>(
  vault: MockableVault<VaultT> | UnopenedVault<VaultT>,
): Promise<MockVaultHandle<VaultT>>;
/**
 * The same over any EIP-1193 provider.
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
export async function connectMocks(
  provider: Eip1193Provider,
  addresses: ContractAddresses,
): Promise<MockVaultHandle<VaultClient>>;
export async function connectMocks(
  target: MockableVault<MockHost> | UnopenedVault<MockHost> | Eip1193Provider,
  contracts: ContractAddresses = {},
): Promise<MockVaultHandle> {
  const vault = isProvider(target)
    ? new VaultClient(target, contracts)
    : "connect" in target
      ? await target.connect()
      : target;
  const addresses = await addressesByRole(
    async (role) => (await vault.addressOf(role)).address,
  );
  const counts = await countScripts(vault, addresses);
  requireMocks(vault, addresses, contractRoleNames, counts);
  return new MockVaultHandle(
    vault.at(addresses, "connectMocks()"),
    addresses,
    createMockSender(vault),
  );
}

/** Where to place code, or undefined where contracts have to be deployed. */
async function findPlaces(
  vault: MockHost,
  at: ContractAddresses | undefined,
): Promise<MockAddresses | undefined> {
  if (at === undefined) {
    return isInProcess(vault)
      ? await addressesByRole((role) =>
          inProcessAddressOf(role, vault.instanceName),
        )
      : undefined;
  }
  const book = fixedAddresses(at, "at");
  await requireDevelopmentNode(vault);
  const addresses = await addressesByRole(
    async (role) =>
      (
        await requireAddress(book, role, {
          operation: "deployMocks({ at })",
          network: vault.networkName,
        })
      ).address,
  );
  requireDistinct(addresses, contractRoleNames);
  return addresses;
}

async function deployToNode(
  { rpc }: MockHost,
  send: MockSender,
): Promise<MockAddresses> {
  const mined = await send(
    contractRoleNames.map((role) => ({ data: mockArtifacts[role].bytecode })),
  );
  return await addressesByRole((role) => {
    const address = mined[contractRoleNames.indexOf(role)]?.contractAddress;
    if (!isAddress(address)) {
      throw rpc
        .reader("eth_getTransactionReceipt")
        .invalid("a deployment has no contractAddress that is one");
    }
    return getAddress(address);
  });
}

/** @see HardhatVault.mockAt */
export async function mockAt<VaultT extends MockHost>(
  vault: VaultT,
  role: ContractRole,
  options: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  return await inOrder(
    vault,
    async () => await replaceByMock(vault, role, options),
  );
}

async function replaceByMock<VaultT extends MockHost>(
  vault: VaultT,
  role: ContractRole,
  { scenario, overrides = {} }: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  if (!isContractRole(role)) {
    throw notOneOf("role", contractRoleNames, role);
  }
  const createState = scenarios[requireScenario(scenario ?? DEFAULT_SCENARIO)];
  await requireDevelopmentNode(vault);
  const addresses = await locate(vault, role);
  requireDistinct(addresses, [role]);

  const snapshot = await vault.snapshot();
  const original = createState(await readClock(vault));
  const state = applyOverrides(
    scenario === undefined
      ? applyOverrides(original, readingsOfRole(snapshot, role))
      : original,
    overrides,
  );

  await placeMocks(vault, addresses, [role]);
  const send = createMockSender(vault);
  await load(send, addresses, [role], callsForState(state, addresses));
  return new MockVaultHandle(vault, addresses, send);
}

/** The role's address, and those of the others as far as they have one. */
async function locate(
  vault: MockHost,
  wanted: ContractRole,
): Promise<MockAddresses> {
  await vault.addressOf(wanted, "mockAt()");
  return await addressesByRole(
    async (role) =>
      await vault
        .addressOf(role)
        .then(
          ({ address }) => address,
          fallbackTo(ZeroAddress, isNotConfigured),
        ),
  );
}

/** What a contract answers now, as far as it does. */
function readingsOfRole(
  snapshot: VaultSnapshot,
  wanted: ContractRole,
): MockOverrides {
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
