// The types of this entry, which the main entry exports too.
export type { BlockInfo, PinnedBlock } from "../rpc/blocks.js";
export type { Eip1193Provider, RetryEvent } from "../rpc/rpc-client.js";
export type { BlockTag } from "./inputs.js";
export type { FailedOrder, ListedOrder, Order } from "./order-reader.js";
export type { OrdersOptions } from "./orders.js";
export type { PastRound, RoundsOptions } from "./rounds.js";
export type {
  FailedReading,
  ReadOptions,
  ScanOptions,
  ScanProgress,
  SnapshotOptions,
  StrictVaultSnapshot,
  VaultSnapshot,
} from "./read-at-block.js";
export type {
  VaultContracts,
  AddressResolver,
  ContractAddresses,
  LocatedAddress,
  MissingAddress,
} from "./contracts.js";
export type { VaultAddresses, VaultClientOptions } from "./vault-client.js";
export type { VaultReads } from "./reads.js";
export type {
  ErrorArgument,
  ErrorKind,
  GivenValue,
  VaultErrorCode,
} from "../errors.js";
export type {
  Address,
  CalMarginsParameters,
  ContractRole,
  ContractTypeName,
  Hex,
  MarginAmounts,
  OperationArguments,
  OperationName,
  OperationResult,
  OrderStateName,
  PoolAmounts,
  PoolName,
  ReadOperationName,
  StandaloneReadings,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";
