import { keysOf } from "./units.js";
import type { Unit } from "./units.js";

/** The contract roles of the protocol and the ABI of each; both pools share one. */
export const contractRoles = {
  underlyingAsset: { abi: "UnderlyingAsset", label: "underlying asset" },
  publicPool: { abi: "LiquidityPool", label: "public pool" },
  privatePool: { abi: "LiquidityPool", label: "private pool" },
  trading: { abi: "Trading", label: "trading" },
  vaultFactory: { abi: "VaultFactory", label: "vault factory" },
  vault: { abi: "Vault", label: "vault" },
} as const;

/** Name of a contract role, in the configuration and in `--at`. */
export type ContractRole = keyof typeof contractRoles;

export type AbiName = (typeof contractRoles)[ContractRole]["abi"];

export const contractRoleNames = keysOf(contractRoles);

export function byRole<Value>(
  valueOf: (role: ContractRole) => Value,
): Record<ContractRole, Value> {
  // every role has an entry, but the type of fromEntries lacks them
  return Object.fromEntries(
    contractRoleNames.map((role) => [role, valueOf(role)]),
  ) as Record<ContractRole, Value>;
}

export type WireType = "uint256" | "uint8" | "bool" | "string" | "address";

/** One argument or one returned value of an operation. */
export interface Field {
  /** The name in the API and in JSON. */
  readonly name: string;
  readonly type: WireType;
  readonly unit: Unit;
  /** True for a `raw` value that is probably Unix seconds: tasks add a date to it. */
  readonly isLikelyTime?: boolean;
  /** The name of the task's option, in camel case. */
  readonly option?: string;
  readonly label: string;
  /** A sentence that follows the label in documentation. */
  readonly note?: string;
  /** Key of the reading that returns the value, of outputs only. */
  readonly key?: string;
}

export interface Operation {
  readonly kind: "read" | "transaction";
  /** Name of the contract's function, if it differs from the operation's. */
  readonly functionName?: string;
  /** Four-byte selector that the protocol documents. */
  readonly selector: `0x${string}`;
  /** The contract's role; if several contracts have the function, a role by name. */
  readonly target: ContractRole | Readonly<Record<string, ContractRole>>;
  /** Name of the argument that chooses among several contracts. */
  readonly targetName?: string;
  readonly inputs: readonly Field[];
  readonly outputs: readonly Field[];
  /** Key of the result in every JSON document and in a snapshot. */
  readonly key: string;
  /** Task of the operation: `hardhat vault <task>`. */
  readonly task: string;
  readonly title: string;
  readonly description: string;
}

function uint256<const Name extends string, const UnitT extends Unit>(
  name: Name,
  unit: UnitT,
  label: string,
  more: Pick<Field, "option" | "note"> = {},
): Field & {
  readonly name: Name;
  readonly type: "uint256";
  readonly unit: UnitT;
} {
  return { name, type: "uint256", unit, label, ...more };
}

/** @returns The key of a reading, and its fields, each with that key. */
function keyed<const Key extends string, const Fields extends readonly Field[]>(
  key: Key,
  fields: Fields,
) {
  const outputs = fields.map((field) => ({ ...field, key }));
  // each field with one property more, in its place
  return { key, outputs: outputs as readonly Field[] as Fields };
}

const AFTER_SETTLEMENT = { note: "Updated only once the round is settled" };

/**
 * The operations of the protocol. Encoding, decoding, tasks, snapshots, simulations and
 * documents follow this table. `VaultClient` has a method for each read.
 */
export const operations = {
  getFundingFeeRate: {
    kind: "read",
    selector: "0xc138aa5f",
    target: "underlyingAsset",
    inputs: [
      {
        name: "contractType",
        type: "uint8",
        unit: "contractType",
        option: "type",
        label: "Contract type",
      },
    ],
    ...keyed("fundingFeeRate", [
      uint256("fundingFeeRate", "rate", "Funding fee rate"),
    ]),
    task: "funding-rate",
    title: "Funding fee rate",
    description: "Show the funding fee rate for calls and puts",
  },

  getLatestRoundInfo: {
    kind: "read",
    selector: "0x2016e80b",
    target: "vaultFactory",
    inputs: [],
    ...keyed("round", [
      uint256("strikePrice", "price", "Strike price"),
      uint256("APY", "percent", "APY"),
      uint256("maxVolume", "token", "Maximum volume"),
      uint256("filledVolume", "token", "Filled volume"),
      uint256("minDeposit", "token", "Minimum deposit"),
      uint256("startTime", "timestamp", "Start"),
      uint256("endTime", "timestamp", "End"),
      uint256("settledPrice", "price", "Settled price", AFTER_SETTLEMENT),
      uint256("settledAmount", "raw", "Settled amount", AFTER_SETTLEMENT),
      {
        name: "settled",
        type: "bool",
        unit: "none",
        label: "Settled",
        ...AFTER_SETTLEMENT,
      },
    ]),
    task: "round",
    title: "Latest round",
    description: "Show the latest round of the vault",
  },

  getOrderInfo: {
    kind: "read",
    selector: "0xd311636b",
    target: "trading",
    inputs: [uint256("orderID", "none", "Order id", { option: "id" })],
    ...keyed("order", [
      { name: "exType", type: "string", unit: "none", label: "Pair" },
      { name: "holder", type: "address", unit: "none", label: "Holder" },
      uint256("number", "raw", "Open positions"),
      uint256("exFee", "raw", "Opening fee"),
      uint256("lockFee", "raw", "Accumulated position fee"),
      uint256("newLockFee", "raw", "Next position fee"),
      uint256("openPrice", "raw", "Opening price"),
      uint256("marginAmount", "raw", "Margin"),
      uint256("marginFee", "raw", "Liquidation fee"),
      { ...uint256("startTime", "raw", "Opened"), isLikelyTime: true },
      uint256("closePrice", "raw", "Closing price"),
      {
        name: "contractType",
        type: "uint8",
        unit: "contractType",
        label: "Direction",
        note: "The protocol lists these numbers for the funding fee rate alone",
      },
      { name: "state", type: "uint8", unit: "orderState", label: "State" },
    ]),
    task: "order",
    title: "Order",
    description: "Show one order",
  },

  calMargins: {
    kind: "read",
    selector: "0xb6624fb0",
    target: "vault",
    inputs: [
      uint256("maxVolume", "token", "Maximum volume of the next round", {
        option: "maxVolume",
      }),
      uint256("APY", "percent", "APY of the next round", { option: "apy" }),
      uint256("endTime", "timestamp", "End of the next round", {
        option: "endTime",
      }),
    ],
    ...keyed("margins", [
      uint256("baseMarginAmount", "raw", "Base token margin to pay"),
      uint256("xMarginAmount", "raw", "X token margin to pay"),
    ]),
    task: "margins",
    title: "Margins to pay",
    description: "Calculate the margins to pay for the next round",
  },

  getLPAmountInfo: {
    kind: "read",
    selector: "0x53ac2d24",
    target: { public: "publicPool", private: "privatePool" },
    targetName: "pool",
    inputs: [],
    ...keyed("pools", [
      uint256("deposit", "raw", "Deposited"),
      uint256("availabe", "raw", "Available", {
        note: "Spelled so in the contract",
      }),
      uint256("locked", "raw", "Locked"),
    ]),
    task: "pools",
    title: "Liquidity pools",
    description: "Show the amounts of both liquidity pools",
  },

  queryVolume: {
    kind: "read",
    selector: "0xa69590a8",
    target: "vault",
    inputs: [],
    ...keyed("volume", [uint256("volume", "raw", "Volume")]),
    task: "volume",
    title: "Volume",
    description: "Show the volume of the vault",
  },

  queryMarginBalance: {
    kind: "read",
    selector: "0xea17f924",
    target: "vault",
    inputs: [],
    ...keyed("marginBalance", [
      uint256("baseMarginAmount", "raw", "Withdrawable base token margin"),
      uint256("xMarginAmount", "raw", "Withdrawable X token margin"),
    ]),
    task: "margin-balance",
    title: "Margin balance",
    description: "Show the margins that can be withdrawn from the vault",
  },

  minXMargin: {
    kind: "read",
    functionName: "minSLDMargin",
    selector: "0x789f4b5a",
    target: "vaultFactory",
    inputs: [],
    ...keyed("minXMargin", [
      uint256("minXMargin", "raw", "Minimum X token margin"),
    ]),
    task: "min-margin",
    title: "Minimum X margin",
    description: "Show the X token margin to pay when issuing a vault",
  },

  /**
   * Settles the round that is current when the transaction is mined. The protocol
   * documents no preconditions and no restrictions of the caller.
   */
  settleAll: {
    kind: "transaction",
    selector: "0xa015aefe",
    target: "vault",
    inputs: [],
    ...keyed("settlement", []),
    task: "settle",
    title: "Settlement",
    description: "Settle the current round of the vault",
  },
} as const satisfies Readonly<Record<string, Operation>>;

type Operations = typeof operations;

/** Name of an operation. */
export type OperationName = keyof Operations;

/** Name of an operation that only reads. */
export type ReadOperationName = {
  [Name in OperationName]: Operations[Name]["kind"] extends "read"
    ? Name
    : never;
}[OperationName];

/** "public" or "private". */
export type PoolName = keyof Operations["getLPAmountInfo"]["target"];

type Unscaled<Name extends ReadOperationName> = Exclude<
  Extract<Operations[Name]["outputs"][number], { readonly unit: "raw" }>,
  { readonly isLikelyTime: true }
>["name"];

/**
 * Key of `displayDecimals`: a reading, for all its values without a documented
 * scale, or one of these values.
 */
export type DisplayDecimalsKey = {
  [Name in ReadOperationName]: [Unscaled<Name>] extends [never]
    ? never
    : | Operations[Name]["key"]
      | (Operations[Name]["outputs"] extends readonly [unknown]
          ? never
          : `${Operations[Name]["key"]}.${Unscaled<Name>}`);
}[ReadOperationName];

/** Decimals for display by {@link DisplayDecimalsKey}. */
export type DisplayDecimals = {
  readonly [Key in DisplayDecimalsKey]?: number | undefined;
};

/** Decimals of displayed amounts; the API and JSON stay unscaled. */
export interface DisplaySettings {
  /** Decimals of token amounts ("token precision"). */
  readonly tokenDecimals?: number | undefined;
  /** Decimals of values whose scale the protocol does not document. */
  readonly displayDecimals?: DisplayDecimals | undefined;
}

/** The properties of a value that decide its decimals. */
export type ScaledField = Pick<Field, "unit" | "isLikelyTime" | "key"> &
  Partial<Pick<Field, "name">>;

/** @returns True if the setting `displayDecimals` may scale the value. */
export function hasOwnersScale({ unit, isLikelyTime }: ScaledField): boolean {
  return unit === "raw" && isLikelyTime !== true;
}

/** Every {@link DisplayDecimalsKey}, in the order of the operations. */
export const displayDecimalsKeys: readonly string[] = Object.values<Operation>(
  operations,
).flatMap(({ key, outputs }) => {
  const own = outputs.filter(hasOwnersScale);
  const single = own.map(({ name }) => `${key}.${name}`);
  const keys = outputs.length === 1 ? [key] : [key, ...single];
  return own.length === 0 ? [] : keys;
});

/**
 * Finds the configured decimals of a value; a setting of the value precedes a
 * setting of its reading.
 */
export function declaredDecimals(
  displayDecimals: DisplayDecimals | undefined,
  field: ScaledField,
): number | undefined {
  const { key = "", name = "" } = field;
  const declared: Readonly<Record<string, number | undefined>> =
    displayDecimals ?? {};
  return hasOwnersScale(field)
    ? (declared[`${key}.${name}`] ?? declared[key])
    : undefined;
}
