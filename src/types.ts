/**
 * The public types, for `import type { … } from "hardhat-vault/types"` and, at
 * the entry point, from "hardhat-vault".
 *
 * @module hardhat-vault/types
 */
// By name, but of a file that has types alone: `export type *` would offer values,
// too, that nobody could use.
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
  ExpectedReadings,
  ExpectedSettlement,
  ExpectedValue,
  ReadableVault,
} from "./assert/index.js";
export type {
  Capture,
  CapturedFixture,
  CaptureOptions,
  CheckedOrder,
  DeployMocksOptions,
  MockableVault,
  MockAddresses,
  MockAnswers,
  MockAtOptions,
  MockContracts,
  MockHost,
  MockOrder,
  MockOverrides,
  MockState,
  NextRound,
  OrderKey,
  RecordedSettlement,
  Scenario,
  ScenarioName,
  ScriptedFailure,
  ScriptedReason,
  ScriptedSettlement,
  UnopenedVault,
} from "./mocks/index.js";
export type {
  PreviewDifference,
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementPreview,
  SettlementStatus,
  SigningKind,
} from "./settlement/types.js";
export type { ForkConnection, ForkOptions } from "./rehearsal/engines/fork.js";
export type { TokenDescription } from "./rehearsal/describe-tokens.js";
export type {
  HttpEngine,
  SimulateSettleAllOptions,
} from "./rehearsal/simulate-settle-all.js";
export type { SimulationTime } from "./rehearsal/target-time.js";
export type {
  BalanceChange,
  ReadingChange,
  ReadingValue,
  RehearsalEngine,
  Simulation,
  SimulationStatus,
  Transfer,
} from "./rehearsal/types.js";
