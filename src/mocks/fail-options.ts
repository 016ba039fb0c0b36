import type { AccountLike } from "../client/inputs.js";
import { option } from "../client/options.js";
import type { OptionsOf } from "../client/options.js";
import type { CalMarginsParameters, PoolName } from "../protocol/index.js";

export const conditionOptions = {
  /** Of `getLPAmountInfo`: the pool that fails. Default: both. */
  pool: option<PoolName>(),
  /** Of `getOrderInfo`: the order whose reading fails. */
  orderID: option<bigint | number>(),
  /** Of `calMargins`: the arguments that fail. */
  terms: option<CalMarginsParameters>(),
  /** The caller, `msg.sender` of the mock, that fails: an address or a signer. */
  from: option<AccountLike>(),
};

/** The calls of an operation that fail. Default: every call. */
export interface FailureCondition extends OptionsOf<typeof conditionOptions> {}
