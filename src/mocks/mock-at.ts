import { ZeroAddress } from "ethers";

import { notOneOf } from "../client/inputs.js";
import { absentContract, isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import {
  contractRoleNames,
  isContractRole,
  placeReading,
  readingAt,
  standaloneReadings,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { inOrder } from "../rpc/in-order.js";
import { applyOverrides } from "./state.js";
import { requireControllableNode } from "./local-node.js";
import { createMockSender } from "./mock-sender.js";
import { MockVaultHandle } from "./handle.js";
import { placeMocks, requireDistinct } from "./place-mocks.js";
import { requireScenario, scenarios } from "./scenarios.js";
import type { ScenarioName } from "./scenarios.js";
import { addressesByRole } from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import { call, callsForState, encodeScript } from "./setters.js";
import type { MockHost, MockOverrides } from "./types.js";

/** Options of `mockAt()`. */
export interface MockAtOptions {
  /**
   * What the mock answers, instead of what the contract there answered; for
   * what cannot be read, `open-round` unless given.
   */
  readonly scenario?: ScenarioName | undefined;
  /** Changes to that. */
  readonly overrides?: MockOverrides | undefined;
}

/** @see HardhatVault.mockAt */
export async function mockAt<VaultT extends MockHost>(
  vault: VaultT,
  role: ContractRole,
  options: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  return await inOrder(vault, async () => await place(vault, role, options));
}

async function place<VaultT extends MockHost>(
  vault: VaultT,
  role: ContractRole,
  { scenario, overrides = {} }: MockAtOptions,
): Promise<MockVaultHandle<VaultT>> {
  if (!isContractRole(role)) {
    throw notOneOf("role", contractRoleNames, role);
  }
  const createState = scenarios[requireScenario(scenario ?? "open-round")];
  await requireControllableNode(vault);
  const addresses = await locate(vault, role);
  requireDistinct(addresses, [role]);

  const snapshot = await vault.snapshot();
  const original = createState(BigInt(snapshot.block.timestamp));
  const state = applyOverrides(
    scenario === undefined
      ? applyOverrides(original, readingsOfRole(snapshot, role))
      : original,
    overrides,
  );

  await placeMocks(vault, addresses, [role]);
  const send = createMockSender(vault);
  await send(
    encodeScript(addresses, [
      call(role, "reset"),
      ...callsForState(state, addresses).filter((each) => each.role === role),
    ]),
  );
  return new MockVaultHandle({ vault, addresses, scenario: null, send });
}

/** The role's address, and those of the others as far as they have one. */
async function locate(
  vault: MockHost,
  wanted: ContractRole,
): Promise<MockAddresses> {
  await vault.addressOf(wanted, "mockAt()");
  return await addressesByRole(async (role) => {
    try {
      return (await vault.addressOf(role)).address;
    } catch (error) {
      absentContract(error);
      return ZeroAddress;
    }
  });
}

/** What a contract answers now, as far as it does. */
function readingsOfRole(
  snapshot: VaultSnapshot,
  wanted: ContractRole,
): MockOverrides {
  const readings: Record<string, unknown> = {};
  for (const { role, path } of standaloneReadings) {
    const value = readingAt(snapshot, path);
    if (role === wanted && !isFailedReading(value)) {
      placeReading(readings, path, value);
    }
  }
  // The keys of readings are those of a scenario; overrides are checked anyway.
  return readings;
}
