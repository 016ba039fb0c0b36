/**
 * The public types; "hardhat-vault" exports them too.
 *
 * @module hardhat-vault/types
 */
// By name: `export type *` of a file with values would offer unusable values.
export type {
  ContractType,
  OrderState,
  VaultClient,
  VaultError,
} from "./client/index.js";
export type { AccountLike } from "./client/inputs.js";
export type * from "./client/types.js";
export type { HardhatVault, MockVaultHandle } from "./plugin/hardhat-vault.js";
export type { LazyHardhatVault } from "./plugin/lazy-hardhat-vault.js";
export type {
  SettlementSettings,
  VaultInstanceConfig,
  VaultInstanceUserConfig,
  VaultNetworkConfig,
  VaultNetworkUserConfig,
} from "./plugin/config.js";
export type {
  DisplayDecimals,
  DisplayDecimalsKey,
  DisplaySettings,
} from "./protocol/index.js";
export type {
  AssertedVault,
  CallArguments,
  ExpectedReadings,
  ExpectedSettlement,
  ExpectedValue,
  ExpectedVaultError,
} from "./assert/index.js";
export type {
  Capture,
  CapturedFixture,
  CaptureOptions,
  DeployMocksOptions,
  MockAddresses,
  MockAtOptions,
  MockContracts,
  RecordedSettlement,
  Scenario,
  ScenarioName,
} from "./mocks/index.js";
export type * from "./mocks/types.js";
export type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
  SigningKind,
} from "./settlement/options.js";
export type {
  ForkConnection,
  ForkOptions,
  WarmCall,
} from "./simulation/fork.js";
export type {
  HttpEngine,
  SimulateSettleAllOptions,
  SimulationTime,
} from "./simulation/simulate.js";
export type {
  BalanceChange,
  PreviewDifference,
  ReadingChange,
  ReadingValue,
  SimulationEngine,
  Simulation,
  SimulationStatus,
  TokenDescription,
  Transfer,
} from "./simulation/types.js";
