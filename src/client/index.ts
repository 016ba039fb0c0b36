/**
 * `VaultClient`: typed reads over any EIP-1193 provider, without Hardhat.
 *
 * @module hardhat-vault/client
 */
export { isEmptyOrder, isFailedOrder } from "./order-reader.js";
export { isFailedReading } from "./read-at-block.js";
export { VaultClient } from "./vault-client.js";
export { VaultError } from "../errors.js";
export { toJsonValue } from "../json.js";
export type * from "./types.js";
export {
  ContractType,
  OrderState,
  contractRoles,
  operations,
} from "../protocol/index.js";
