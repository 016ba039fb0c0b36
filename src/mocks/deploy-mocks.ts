import { resolve } from "node:path";

import { deepMerge } from "@nomicfoundation/hardhat-utils/lang";

import { ZeroAddress } from "ethers";

import { checkOptions, optional, requireOneOf } from "../client/inputs.js";
import type { OptionsOf } from "../client/inputs.js";
import { MOCKS_SOURCE, fixedAddresses } from "../client/contracts.js";
import type { ContractAddresses } from "../client/contracts.js";
import { isFailedReading } from "../client/read-at-block.js";
import { VaultClient } from "../client/vault-client.js";
import { invalidArgument } from "../errors.js";
import { hasHost, isInProcess } from "../host.js";
import { asRecord } from "../json.js";
import {
  byRole,
  contractRoleNames,
  get,
  keysOf,
  set,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole, Hex } from "../protocol/index.js";
import type { Eip1193Provider } from "../rpc/rpc-client.js";
import { readFixture } from "./capture.js";
import { MockVaultHandle } from "./handle.js";
import {
  call,
  changeMocks,
  inProcessAddresses,
  mockArtifacts,
  placeCode,
  readClock,
  requireDevelopmentNode,
  requireMocks,
  sendScript,
  sendToMocks,
} from "./mock-contracts.js";
import type { MockAddresses, ScriptCall } from "./mock-contracts.js";
import { scenarios } from "./scenarios.js";
import type { ScenarioName } from "./scenarios.js";
import { callsFor, checkChanges } from "./state.js";
import type { MockOverrides, MockState } from "./types.js";

const mockAtOptions = {
  /** Changes to the scenario or the fixture. */
  overrides: optional<MockOverrides>(),
};

/** Options of `mockAt()`. */
export interface MockAtOptions extends OptionsOf<typeof mockAtOptions> {}

const deployOptions = {
  ...mockAtOptions,
  /** State to begin with. Default: `open-round`. */
  scenario: optional<ScenarioName>(),
  /**
   * File of `vault capture` to replay instead of a scenario, relative to the
   * project's root. The times are the recorded ones.
   */
  fixture: optional<string>(),
  /**
   * Addresses where the mocks replace the code; in process, on anvil and on
   * `hardhat node` only. Default: fixed addresses in process, else new ones.
   */
  at: optional<MockAddresses>(),
  /**
   * Deploy also to a network where it costs money: nobody is asked, so it needs
   * `maxFeePerGasLimit`. Over a plain provider, its wallet or node sets the price. Default: false.
   */
  allowLiveNetwork: optional<boolean>(),
};

/** Options of `deployMocks()`: a scenario or a fixture, and more. */
export interface DeployMocksOptions extends OptionsOf<typeof deployOptions> {}

const DEFAULT_SCENARIO = "open-round";

/**
 * Deploys the six mocks over a vault or any EIP-1193 provider, such as Hardhat
 * 2's `hre.network.provider` or viem's test client.
 *
 * @returns The handle that scripts them; its `vault` reads them.
 * @throws VaultError VAULT_LIVE_NETWORK, VAULT_FEE_LIMIT_NEEDED, VAULT_FEE_ABOVE_LIMIT,
 * VAULT_PENDING_TRANSACTIONS, VAULT_NO_SIGNER, VAULT_UNKNOWN_SIGNER, VAULT_MOCK_SCRIPT_FAILED,
 * VAULT_INVALID_ARGUMENT, VAULT_INVALID_FIXTURE and errors of a request
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
  const { scenario = DEFAULT_SCENARIO, fixture, at } = options;
  const overrides = checkChanges(options.overrides);
  return await changeMocks(vault, async () => {
    const original = await chooseState(vault, options);
    if (at !== undefined || options.allowLiveNetwork !== true) {
      await requireDevelopmentNode(vault);
    }
    const { settledPrice, settledAmount } = overrides.settlement ?? {};
    const isOfScenario =
      settledPrice === undefined && settledAmount === undefined;
    const script = callsFor(deepMerge(original, overrides), isOfScenario);
    const addresses = await placeMocks(vault, at);
    await load(vault, addresses, script);
    if (hasHost(vault)) {
      vault.bind(fixedAddresses(addresses, MOCKS_SOURCE));
    }
    return new MockVaultHandle(
      vault.at(addresses, MOCKS_SOURCE),
      addresses,
      fixture === undefined ? scenario : null,
    );
  });
}

function vaultOf<VaultT extends VaultClient>(
  vaultOrProvider: VaultT | Eip1193Provider,
  contracts: ContractAddresses = {},
): VaultT {
  if (vaultOrProvider instanceof VaultClient) {
    return vaultOrProvider;
  }
  if (typeof asRecord(vaultOrProvider)["getLatestRoundInfo"] === "function") {
    throw invalidArgument(
      "vault",
      "it is hre.vault, or of another copy of the package (`npm ls hardhat-vault`)",
      "Pass `await hre.vault.connect()`, or install the package once.",
    );
  }
  // for a provider, VaultT is VaultClient
  return new VaultClient(vaultOrProvider, contracts) as VaultT;
}

async function chooseState(
  vault: VaultClient,
  { scenario = DEFAULT_SCENARIO, fixture }: DeployMocksOptions,
): Promise<MockState> {
  if (fixture !== undefined) {
    const root = hasHost(vault) ? vault.context.config.paths.root : "";
    return await readFixture(resolve(root, fixture));
  }
  requireOneOf(keysOf(scenarios), scenario, "scenario");
  return scenarios[scenario](await readClock(vault));
}

/** Places the code in process or at given addresses; elsewhere deploys it. */
async function placeMocks(
  vault: VaultClient,
  at: ContractAddresses | undefined,
): Promise<MockAddresses> {
  if (at === undefined && !isInProcess(vault)) {
    const bytecodes = contractRoleNames.map((role) => ({
      data: mockArtifacts[role].bytecode,
    }));
    const mined = await sendToMocks(vault, bytecodes);
    const deployed = contractRoleNames.map(
      (role, index) => [role, String(mined[index]?.contractAddress)] as const,
    );
    return await addressesOf(vault.at(Object.fromEntries(deployed)));
  }
  const instance = hasHost(vault) ? vault.instanceName : undefined;
  const bound = vault.at(at ?? inProcessAddresses(instance));
  const addresses = await addressesOf(bound, "deployMocks({ at })");
  await placeCode(vault, addresses);
  return addresses;
}

/** @param operation What needs the addresses, for errors. */
async function addressesOf(
  vault: VaultClient,
  operation = MOCKS_SOURCE,
): Promise<MockAddresses> {
  const located = contractRoleNames.map(
    async (role) =>
      [role, (await vault.addressOf(role, operation)).address] as const,
  );
  // every role has an entry
  return Object.fromEntries(await Promise.all(located)) as MockAddresses;
}

/** Loads a state; resets the mocks first, because they may hold an earlier one. */
async function load(
  vault: VaultClient,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
  roles: readonly ContractRole[] = contractRoleNames,
): Promise<void> {
  const whole = [
    ...contractRoleNames.map((role) => call(role, "reset")),
    call("vault", "setFactory", addresses.vaultFactory),
    ...script,
  ];
  const own = whole.filter(({ role }) => roles.includes(role));
  await sendScript(vault, addresses, own);
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
  vault: VaultT,
): Promise<MockVaultHandle<VaultT>>;
export async function connectMocks<VaultT extends VaultClient>(
  vaultOrProvider: VaultT | Eip1193Provider,
  contracts?: ContractAddresses,
): Promise<MockVaultHandle<VaultT>> {
  const vault = vaultOf<VaultT>(vaultOrProvider, contracts);
  const addresses = await addressesOf(vault, "Scripting mocks");
  await requireMocks(vault, addresses);
  return new MockVaultHandle(vault.at(addresses, "connectMocks()"), addresses);
}

/** @see HardhatVault.mockAt */
export async function mockAt<VaultT extends VaultClient>(
  vault: VaultT,
  role: ContractRole,
  options: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  checkOptions("mockAt()", options, mockAtOptions);
  requireOneOf(contractRoleNames, role, "role");
  const overrides = checkChanges(options.overrides);
  const mocks = await changeMocks(vault, async () => {
    await requireDevelopmentNode(vault);
    await vault.addressOf(role, "mockAt()");
    const located = await vault.addresses;
    // The zero address fails later, if the handle scripts that contract.
    const addresses = { ...byRole(() => ZeroAddress as Hex), ...located };
    const snapshot = await vault.snapshot();
    const scenario = scenarios[DEFAULT_SCENARIO](await readClock(vault));
    const state: Record<string, unknown> = { ...scenario };
    for (const { path } of standaloneQueries) {
      const answer = get(snapshot, path);
      if (!isFailedReading(answer)) {
        set(state, path, answer);
      }
    }
    await placeCode(vault, addresses, [role]);
    await load(vault, addresses, callsFor(state, true), [role]);
    return new MockVaultHandle(vault, addresses);
  });
  await mocks.set(overrides);
  return mocks;
}
