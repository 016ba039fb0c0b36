export type { BlockInfo } from "./block.js";
export type {
  AddressBook,
  ContractAddresses,
  LocatedAddress,
} from "./addresses.js";
export type { Eip1193Provider } from "./eip1193.js";
export type { BlockTag } from "./inputs.js";
export { isEmptyOrder, isFailedOrder } from "./orders/read-orders.js";
export type {
  FailedOrder,
  ListedOrder,
  Order,
  OrdersOptions,
  OrdersProgress,
} from "./orders/read-orders.js";
export { isFailedReading } from "./snapshot.js";
export type { FailedReading, VaultSnapshot } from "./snapshot.js";
export { VaultClient } from "./vault-client.js";
export type {
  ReadOptions,
  VaultClientOptions,
  VaultContracts,
  VaultReads,
} from "./vault-client.js";
export { VaultError } from "../errors.js";
export type { ErrorKind, VaultErrorCode } from "../errors.js";
export {
  ContractType,
  OrderState,
  contractRoles,
  operations,
} from "../protocol/index.js";
export type {
  ContractRole,
  MarginAmounts,
  OperationName,
  OrderInfo,
  PoolAmounts,
  PoolName,
  ReadOperationName,
  VaultRound,
} from "../protocol/index.js";
