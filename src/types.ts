/**
 * The public types, for `import type { … } from "hardhat-vault/types"` and, at
 * the entry point, from "hardhat-vault".
 *
 * @module hardhat-vault/types
 */
// By name: `export type *` would offer values, too, that nobody could use.
export type {
  ContractType,
  OrderState,
  VaultClient,
  VaultError,
} from "./client/index.js";
export type * from "./client/types.js";
export type { HardhatVault, MockVaultHandle } from "./plugin/hardhat-vault.js";
export type {
  LazyHardhatVault,
  LazyVaultReads,
} from "./plugin/lazy-hardhat-vault.js";
export type {
  VaultInstanceConfig,
  VaultInstanceUserConfig,
  VaultNetworkConfig,
  VaultNetworkUserConfig,
} from "./plugin/config-types.js";
export type {
  DisplayDecimals,
  DisplayDecimalsKey,
  DisplaySettings,
} from "./protocol/display-decimals.js";
export type {
  DeployMocksOptions,
  MockAnswers,
  MockAtOptions,
  MockContracts,
  MockOrder,
  MockOverrides,
  MockState,
  NextRound,
  OrderKey,
  RecordedSettlement,
  ScenarioName,
  ScriptedFailure,
  ScriptedReason,
  ScriptedSettlement,
} from "./mocks/index.js";
export type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
  SigningKind,
} from "./settlement/types.js";
export type { ForkConnection, ForkOptions } from "./rehearsal/engines/fork.js";
export type { SimulateSettleAllOptions } from "./rehearsal/simulate-settle-all.js";
export type {
  BalanceChange,
  ReadingChange,
  Simulation,
  SimulationStatus,
} from "./rehearsal/types.js";
