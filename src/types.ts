/**
 * The public types, for `import type { … } from "hardhat-vault/types"` and, at
 * the entry point, from "hardhat-vault".
 */
export type * from "./client/index.js";
export type { HardhatVault } from "./connection/hardhat-vault.js";
export type {
  LazyHardhatVault,
  LazyVaultReads,
} from "./connection/lazy-hardhat-vault.js";
export type {
  VaultNetworkConfig,
  VaultNetworkUserConfig,
} from "./hooks/config-types.js";
export type { DeployMocksOptions } from "./mocks/deploy-mocks.js";
export type { MockAtOptions } from "./mocks/mock-at.js";
export type {
  MockContracts,
  MockVaultHandle,
  RecordedSettlement,
} from "./mocks/mock-vault-handle.js";
export type { ScriptedReason } from "./mocks/revert-data.js";
export type { ScenarioName } from "./mocks/scenarios.js";
export type {
  MockOrder,
  MockOverrides,
  MockState,
  NextRound,
  OrderKey,
  ScriptedFailure,
  ScriptedSettlement,
} from "./mocks/types.js";
export type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
  SigningKind,
} from "./settlement/types.js";
export type { ForkConnection, ForkOptions } from "./simulation/fork.js";
export type { SimulateSettleAllOptions } from "./simulation/simulate-settle-all.js";
export type {
  BalanceChange,
  ReadingChange,
  Simulation,
  SimulationStatus,
} from "./simulation/types.js";
