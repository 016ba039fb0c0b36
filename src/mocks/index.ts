/**
 * The six mocks over any EIP-1193 provider, without the plugin.
 *
 * @module hardhat-vault/mocks
 */
export * from "./artifacts.js";
export { capture } from "./capture.js";
export type { Capture, CapturedFixture, CaptureOptions } from "./capture.js";
export { connectMocks, deployMocks } from "./deploy-mocks.js";
export type { DeployMocksOptions, MockAtOptions } from "./deploy-mocks.js";
export type {
  MockContracts,
  MockVaultHandle,
  RecordedSettlement,
} from "./handle.js";
export { inProcessMockAddresses } from "./mock-contracts.js";
export type { MockAddresses } from "./mock-contracts.js";
export { encodeRevertData } from "./failure.js";
export { scenarios } from "./scenarios.js";
export type { Scenario, ScenarioName } from "./scenarios.js";
export type * from "./types.js";
