import { kebabToCamelCase } from "@nomicfoundation/hardhat-utils/string";
import { MaxUint256, getAddress } from "ethers";

import { scenarios } from "../../src/mocks/scenarios.js";
import type { ScenarioName } from "../../src/mocks/scenarios.js";
import type { MockOrder, MockState } from "../../src/mocks/types.js";

/** A member of `MockState` in Solidity, and the expression that it is set to. */
type Assignments = ReadonlyMap<string, string>;

const BASE: ScenarioName = "open-round";

/** The orders of the base that have a function of their own, by their ids. */
const namedOrders = new Map([
  [1n, "openCall"],
  [2n, "openPut"],
  [3n, "closedCall"],
]);

const ONE = 10n ** 18n;
const DAY_SECONDS = 86_400n;

// Object.keys is typed string[]; the keys are the names.
// eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- see above
const names = Object.keys(scenarios) as ScenarioName[];

/** Later than any time that a scenario goes back by. */
const SOME_TIME = 4_000_000_000n;

/** contracts/test/MockScenarios.sol: the scenarios, for Solidity tests. */
export function renderScenarios(): string {
  return `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// Generated from src/mocks/scenarios.ts by \`npm run docs\`. Do not edit.

import {MockOrder} from "../mocks/MockOrder.sol";
import {MockState} from "./MockState.sol";

/// @title Scenarios of the mocks
/// @notice The canned states of the mocks, with the names and the values that
/// they have in TypeScript. Times are relative to the chain's clock.
library MockScenarios {
    /// @notice There is no such scenario.
    error UnknownScenario(string name, string known);

    /// @notice A scenario by its name, as in TypeScript.
    /// @param name The name.
    /// @param chainTime The chain's clock, \`block.timestamp\`.
    function named(
        string memory name,
        uint256 chainTime
    ) internal pure returns (MockState memory) {
        bytes32 id = keccak256(bytes(name));
        ${names.map((name) => `if (id == keccak256("${name}")) return ${kebabToCamelCase(name)}(${takesTime(name) ? "chainTime" : ""});`).join("\n")}
        revert UnknownScenario(name, "${names.join(", ")}");
    }

    ${names.map(renderScenario).join("\n\n")}

    ${[...namedOrders].map(([id, name]) => renderNamedOrder(id, name)).join("\n\n")}

    /// @dev Never below zero: a test's clock starts at 1.
    function _before(uint256 chainTime, uint256 duration) private pure returns (uint256) {
        return chainTime > duration ? chainTime - duration : 0;
    }

    function _repeat(string memory text, uint256 times) private pure returns (bytes memory repeated) {
        for (uint256 i = 0; i < times; ++i) {
            repeated = bytes.concat(repeated, bytes(text));
        }
    }
}
`;
}

function renderScenario(name: ScenarioName): string {
  const own = assignments(name);
  const base = assignments(BASE);
  const changes = new Map(
    [...own].filter(([member, value]) => base.get(member) !== value),
  );
  const hasOtherOrders = ordersOf(name) !== ordersOf(BASE);
  const isVariant = name !== BASE && changes.size < own.size / 2;
  const lines = [
    ...(isVariant ? [`state = ${kebabToCamelCase(BASE)}(chainTime);`] : []),
    ...[...(isVariant ? changes : own)].map(
      ([member, value]) => `state.${member} = ${value};`,
    ),
    ...(isVariant && !hasOtherOrders ? [] : [ordersOf(name)]),
  ];
  return `/// @notice The scenario \`${name}\`.
function ${kebabToCamelCase(name)}(${takesTime(name) ? "uint256 chainTime" : ""}) internal pure returns (MockState memory state) {
    ${lines.join("\n")}
}`;
}

function takesTime(name: ScenarioName): boolean {
  return [...assignments(name).values()].some((value) =>
    value.includes("chainTime"),
  );
}

/** All members but the orders; times as expressions of the chain's. */
function assignments(name: ScenarioName): Assignments {
  const state = scenarios[name](SOME_TIME);
  const members = new Map<string, string>();
  for (const [path, value] of membersOf(state)) {
    members.set(path, typeof value === "bigint" ? amount(value) : value);
  }
  for (const field of ["startTime", "endTime"] as const) {
    members.set(
      `round.${field}`,
      time((chainTime) => scenarios[name](chainTime).round[field]),
    );
  }
  return members;
}

function* membersOf(state: MockState): Generator<[string, bigint | string]> {
  const {
    fundingFeeRate,
    pools,
    round,
    margins,
    marginBalance,
    settlement,
    generatedOrders,
    failures,
    orders: _rendered,
    ...rest
  } = state;
  if (failures.length > 0) {
    throw new Error("a scenario has no scripted failures");
  }
  for (const [prefix, values] of Object.entries({
    fundingFeeRate,
    publicPool: pools.public,
    privatePool: pools.private,
    round,
    // In Solidity the mocks' own struct.
    margins: { base: margins.baseMarginAmount, x: margins.xMarginAmount },
    marginBalance: {
      base: marginBalance.baseMarginAmount,
      x: marginBalance.xMarginAmount,
    },
    settlement,
    // Without a range: one that is empty.
    generatedOrders: generatedOrders ?? { firstId: 1n, lastId: 0n },
  })) {
    for (const [field, value] of Object.entries(values)) {
      yield [
        `${prefix}.${field}`,
        typeof value === "bigint" ? value : String(value),
      ];
    }
  }
  for (const [member, value] of Object.entries(rest)) {
    if (typeof value !== "bigint" && typeof value !== "boolean") {
      throw new Error(`render-scenarios.ts does not know ${member}`);
    }
    yield [member, typeof value === "bigint" ? value : String(value)];
  }
}

function ordersOf(name: ScenarioName): string {
  const { orders } = scenarios[name](SOME_TIME);
  const isBase = orders === scenarios[BASE](SOME_TIME).orders;
  const lines = [...orders].flatMap(([id, order], index) => {
    if (order === null) {
      throw new Error("a scenario has no removed orders");
    }
    const named = isBase ? namedOrders.get(id) : undefined;
    return [
      `state.orderIDs[${index}] = ${amount(id)};`,
      ...(named === undefined
        ? orderChanges(order, `state.orders[${index}]`)
        : [`state.orders[${index}] = ${named}();`]),
    ];
  });
  return [
    `state.orderIDs = new uint256[](${orders.size});`,
    `state.orders = new MockOrder[](${orders.size});`,
    ...lines,
  ].join("\n");
}

function renderNamedOrder(id: bigint, name: string): string {
  return `/// @notice Order ${id} of \`${BASE}\`.
function ${name}() internal pure returns (MockOrder memory order) {
    ${orderChanges(baseOrder(id), "order", name).join("\n")}
}`;
}

function baseOrder(id: bigint): MockOrder {
  const order = scenarios[BASE](SOME_TIME).orders.get(id);
  if (order === undefined || order === null) {
    throw new Error(`${BASE} has no order ${id}`);
  }
  return order;
}

/** What makes the first named order this one, or else a whole order. */
function orderChanges(
  order: MockOrder,
  target: string,
  name?: string,
): readonly string[] {
  const [[firstId, first] = []] = namedOrders;
  if (firstId === undefined || first === undefined) {
    throw new Error("no named orders");
  }
  const fields = orderFields(order);
  const base = orderFields(baseOrder(firstId));
  const changes = fields.filter(
    ([field, value]) => base.find(([other]) => other === field)?.[1] !== value,
  );
  const isVariant = name !== first && changes.length < fields.length / 2;
  return [
    ...(isVariant ? [`${target} = ${first}();`] : []),
    ...(isVariant
      ? changes
      : // Memory is zero at first.
        fields.filter(([, value]) => !["0", "address(0)", '""'].includes(value))
    ).map(([field, value]) => `${target}.${field} = ${value};`),
  ];
}

function orderFields(order: MockOrder): ReadonlyArray<[string, string]> {
  return Object.entries(order).map(([field, value]): [string, string] => [
    field,
    typeof value === "bigint" || typeof value === "number"
      ? amount(BigInt(value))
      : typeof value === "string" && field === "holder"
        ? address(value)
        : text(value),
  ]);
}

/** Printable ASCII as it is, what repeats as such, all else as hex. */
function text(value: string | Uint8Array): string {
  const bytes = Buffer.from(value);
  const plain = bytes.toString("latin1");
  if (!/^[ !#-[\]-~]*$/u.test(plain)) {
    return `hex"${bytes.toString("hex")}"`;
  }
  const period = /^(.+?)\1+$/u.exec(plain)?.[1];
  return plain.length > 100 && period !== undefined
    ? `_repeat("${period}", ${plain.length / period.length})`
    : `"${plain}"`;
}

function address(value: string): string {
  return BigInt(value) === 0n ? "address(0)" : getAddress(value);
}

function time(at: (chainTime: bigint) => bigint): string {
  const value = at(SOME_TIME);
  const offset = value - SOME_TIME;
  const isRelative = at(SOME_TIME + 1n) - value === 1n;
  if (!isRelative) {
    return amount(value);
  }
  if (offset % DAY_SECONDS !== 0n || at(0n) !== (offset < 0n ? 0n : offset)) {
    throw new Error(`a time that this does not know: chain's + ${offset} s`);
  }
  const days = `${(offset < 0n ? -offset : offset) / DAY_SECONDS} days`;
  return offset < 0n ? `_before(chainTime, ${days})` : `chainTime + ${days}`;
}

/** As one would write it: in units of 1e18 where there are such. */
function amount(value: bigint): string {
  if (value === MaxUint256) {
    return "type(uint256).max";
  }
  const thousandths = value / (ONE / 1_000n);
  return value !== 0n && value % (ONE / 1_000n) === 0n
    ? `${grouped(thousandths / 1_000n)}${fraction(thousandths % 1_000n)}e18`
    : grouped(value);
}

function fraction(thousandths: bigint): string {
  return `.${String(thousandths).padStart(3, "0")}`.replace(/\.?0+$/u, "");
}

function grouped(value: bigint): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/gu, "_");
}
