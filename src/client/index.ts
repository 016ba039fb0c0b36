/**
 * `VaultClient`: typed reads over any EIP-1193 provider, without Hardhat.
 *
 * @module hardhat-vault/client
 */
export type { BlockInfo } from "../rpc/node.js";
export type {
  AddressBook,
  ContractAddresses,
  LocatedAddress,
  MissingAddress,
} from "./addresses.js";
export type { Eip1193Provider } from "../rpc/eip1193.js";
export type { RetryEvent } from "../rpc/patient.js";
export type { BlockTag } from "./inputs.js";
export { isEmptyOrder, isFailedOrder } from "./orders/types.js";
export type {
  FailedOrder,
  ListedOrder,
  Order,
  OrdersOptions,
  OrdersProgress,
} from "./orders/types.js";
export type {
  PastRound,
  RoundSighting,
  RoundsOptions,
  RoundsProgress,
} from "./rounds.js";
export { isFailedReading } from "./failed-reading.js";
export type { VaultSnapshot } from "./snapshot.js";
export type { FailedReading } from "./failed-reading.js";
export { VaultClient } from "./vault-client.js";
export type { VaultClientOptions, VaultContracts } from "./vault-client.js";
export type { ReadOptions, VaultReads } from "./reader.js";
export { VaultError } from "../errors.js";
export type { ErrorKind, VaultErrorCode } from "../errors.js";
export {
  ContractType,
  OrderState,
  contractRoles,
  operations,
} from "../protocol/index.js";
export type {
  CalMarginsParameters,
  ContractRole,
  MarginAmounts,
  OperationName,
  PoolAmounts,
  PoolName,
  ReadOperationName,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";
