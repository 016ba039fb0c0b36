export * from "./artifacts.js";
export { capture } from "./capture.js";
export type { Capture, CapturedFixture, CaptureOptions } from "./capture.js";
export { connectMocks } from "./deploy-mocks.js";
export type { DeployMocksOptions } from "./deploy-mocks.js";
export type { MockAtOptions } from "./mock-at.js";
export { generatedOrder } from "./generated-order.js";
export type {
  MockContracts,
  MockVaultHandle,
  RecordedSettlement,
} from "./mock-vault-handle.js";
export { inProcessMockAddresses } from "./place-mocks.js";
export { encodeRevertData } from "./revert-data.js";
export type { ScriptedReason } from "./revert-data.js";
export { scenarios } from "./scenarios.js";
export type { ScenarioName } from "./scenarios.js";
export type { MockAddresses } from "./script.js";
export type {
  MockOrder,
  MockOverrides,
  MockState,
  NextRound,
  OrderKey,
  ScriptedFailure,
  ScriptedSettlement,
} from "./types.js";
