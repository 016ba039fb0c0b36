import { resolve } from "node:path";

import { ZeroAddress } from "ethers";

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
  addressesOf,
  call,
  hasHost,
  inProcessAddresses,
  isInProcess,
  mockArtifacts,
  placeCode,
  readClock,
  requireDevelopmentNode,
  requireMocks,
} from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import { sendScript, sendToMocks } from "./mock-sender.js";
import { recordOrders } from "./record-orders.js";
import { requireScenario, scenarios } from "./scenarios.js";
import type { Scenario, ScenarioName } from "./scenarios.js";
import { applyOverrides, callsForChanges } from "./state.js";
import type { MockOverrides, MockState } from "./types.js";

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

/** Options of `mockAt()`; the mock returns else what the contract did. */
export type MockAtOptions = Pick<DeployMocksOptions, "overrides">;

const DEFAULT_SCENARIO = "open-round";

/** The source of the addresses in error texts. */
const SOURCE = "deployMocks()";

/**
 * Deploys the six mocks over a vault, or over any EIP-1193 provider: Hardhat 2's
 * `hre.network.provider`, viem's test client, a node's.
 *
 * @returns The handle that scripts them; its `vault` reads them.
 * @throws VaultError VAULT_INVALID_ENUM, VAULT_LIVE_NETWORK,
 * VAULT_NO_SIGNER, VAULT_MOCK_SCRIPT_FAILED, VAULT_INVALID_ARGUMENT,
 * VAULT_INVALID_FIXTURE and those of a failed request
 *
 * @example
 * ```ts
 * const mocks = await deployMocks(provider, { scenario: "expired-round" });
 * (await mocks.vault.getLatestRoundInfo()).settled;
 * // false
 * ```
 */
export async function deployMocks<VaultT extends VaultClient = VaultClient>(
  target: VaultT | Eip1193Provider,
  options: DeployMocksOptions = {},
): Promise<MockVaultHandle<VaultT>> {
  const vault = vaultOf<VaultT>(target);
  return await vault.rpc.inOrder(async () => {
    const { fixture, overrides = {}, at, allowLiveNetwork } = options;
    const createState = await chooseState(vault, options);
    if (at !== undefined) {
      await requireDevelopmentNode(vault);
    } else if (allowLiveNetwork !== true) {
      await requireDevelopmentNode(
        vault,
        "deploying mocks there costs money",
        "To pay for it: `allowLiveNetwork` of deployMocks(), `vault deploy-mocks --yes`. Nothing was sent.",
      );
    }
    const clock = await readClock(vault);
    const state = applyOverrides(createState(clock), overrides);
    const bound = await placeMocks(vault, at);
    const addresses = await addressesOf(bound, SOURCE);
    await load(vault, addresses, contractRoleNames, state, overrides);
    if (hasHost(vault)) {
      vault.bind(fixedAddresses(addresses, SOURCE));
    }
    const { scenario = DEFAULT_SCENARIO } = options;
    const name = fixture === undefined ? scenario : null;
    return new MockVaultHandle(bound, addresses, name);
  });
}

function vaultOf<VaultT extends VaultClient>(
  target: VaultT | Eip1193Provider,
  contracts: ContractAddresses = {},
): VaultT {
  return "request" in target
    ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- for a provider, VaultT is VaultClient
      (new VaultClient(target, contracts) as VaultT)
    : target;
}

function bind<VaultT extends VaultClient>(
  vault: VaultT,
  addresses: ContractAddresses,
  source: string,
): VaultT {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- at() of every vault makes one of its own kind
  return vault.at(addresses, source) as VaultT;
}

/** Places the mocks' code, or deploys it if the chain is not ours. */
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
    return bind(vault, Object.fromEntries(deployed), SOURCE);
  }
  const instance = hasHost(vault) ? vault.instanceName : undefined;
  const bound = bind(vault, at ?? inProcessAddresses(instance), SOURCE);
  const addresses = await addressesOf(bound, "deployMocks({ at })");
  await placeCode(vault, addresses, contractRoleNames);
  return bound;
}

/** Brings mocks into a state; code at an address may have served another one. */
async function load(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
  state: MockState,
  overrides: MockOverrides,
): Promise<void> {
  const script = [
    ...contractRoleNames.map((role) => call(role, "reset")),
    call("vault", "setFactory", addresses.vaultFactory),
    ...callsForChanges(state, overrides, { ...state, orders: undefined }),
    ...(await recordOrders(vault, state.orders)),
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
    throw invalidArgument(SOURCE, "it takes a scenario or a fixture, not both");
  }
  const root = hasHost(vault) ? vault.context.config.paths.root : "";
  const state = await readFixture(resolve(root, fixture));
  return () => state;
}

/**
 * A handle for mocks that are there already, such as those of
 * `vault deploy-mocks`: at the addresses of a vault, or at given ones.
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
export async function connectMocks<VaultT extends VaultClient = VaultClient>(
  target: VaultT | { connect(): Promise<VaultT> } | Eip1193Provider,
  contracts?: ContractAddresses,
): Promise<MockVaultHandle<VaultT>> {
  const vault = vaultOf<VaultT>(
    "connect" in target ? await target.connect() : target,
    contracts,
  );
  const addresses = await addressesOf(vault);
  await requireMocks(vault, addresses, contractRoleNames);
  const bound = bind(vault, addresses, "connectMocks()");
  return new MockVaultHandle(bound, addresses);
}

/** @see HardhatVault.mockAt */
export async function mockAt<VaultT extends VaultClient>(
  vault: VaultT,
  role: ContractRole,
  { overrides = {} }: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  return await vault.rpc.inOrder(async () => {
    if (!isContractRole(role)) {
      throw notOneOf("role", contractRoleNames, role);
    }
    await requireDevelopmentNode(vault);
    await vault.addressOf(role, "mockAt()");
    // A contract that is not configured cannot be scripted.
    const addresses = await addressesOf(
      vault,
      "mockAt()",
      fallbackTo(ZeroAddress, isNotConfigured),
    );
    const scenario = scenarios[DEFAULT_SCENARIO](await readClock(vault));
    const original = applyOverrides(
      scenario,
      await readingsOfRole(vault, role),
    );
    const state = applyOverrides(original, overrides);
    await placeCode(vault, addresses, [role]);
    await load(vault, addresses, [role], state, overrides);
    return new MockVaultHandle(vault, addresses);
  });
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
