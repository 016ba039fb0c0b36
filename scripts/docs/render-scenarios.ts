import {
  capitalize,
  kebabToCamelCase,
} from "@nomicfoundation/hardhat-utils/string";
import { getAddress } from "ethers";

import { scenarios } from "../../src/mocks/scenarios.js";
import type { ScenarioName } from "../../src/mocks/scenarios.js";
import type { MockState } from "../../src/mocks/types.js";
import { keysOf } from "../../src/protocol/keys-of.js";

/** A member of `MockState` in Solidity, and the expression that it is set to. */
type Assignments = ReadonlyMap<string, string>;

const BASE: ScenarioName = "open-round";

const ONE = 10n ** 18n;
const DAY_SECONDS = 86_400n;

/** What memory is at first. */
const zeros = new Set(["0", "false"]);

/** Later than any time that a scenario goes back by. */
const SOME_TIME = 4_000_000_000n;

/** The scenarios of Solidity tests: `extremes` is for what shows values. */
export const solidityScenarios = keysOf(scenarios).filter(
  (name) => name !== "extremes",
);
export type SolidityScenario = (typeof solidityScenarios)[number];

/** contracts/test/MockScenarios.sol: the scenarios, for Solidity tests. */
export function renderScenarios(): string {
  return `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// Generated from src/mocks/scenarios.ts by \`npm run docs\`. Do not edit.

import {VaultReader} from "../interfaces/VaultReader.sol";
import {MockState} from "./MockState.sol";

/// @notice The canned states of the mocks, by the names that they have in
/// TypeScript.
enum Scenario {
    ${solidityScenarios.map(nameOf).join(",\n")}
}

/// @title Scenarios of the mocks
/// @notice What the mocks answer in each scenario: the values of TypeScript.
/// Times are relative to \`block.timestamp\`.
library MockScenarios {
    /// @notice The state of a scenario, to change and to hand to \`deploy\`.
    /// @param scenario The scenario.
    /// @return state What the mocks answer.
    function stateOf(
        Scenario scenario
    ) internal view returns (MockState memory state) {
        ${lines(new Map([...assignments(BASE)].filter(([, value]) => !zeros.has(value))))}
        state.orderIDs = new uint256[](${baseOrders().length});
        state.orders = new VaultReader.Order[](${baseOrders().length});
        ${baseOrders().map(renderOrder).join("\n")}
        ${solidityScenarios
          .filter((name) => name !== BASE)
          .map(renderChanges)
          .join("\n")}
    }

    /// @dev Never below zero: a test's clock starts at 1.
    function _ago(uint256 duration) private view returns (uint256) {
        return block.timestamp > duration ? block.timestamp - duration : 0;
    }
}
`;
}

function nameOf(name: ScenarioName): string {
  return capitalize(kebabToCamelCase(name));
}

function lines(members: Assignments): string {
  return [...members]
    .map(([member, value]) => `state.${member} = ${value};`)
    .join("\n");
}

function renderChanges(name: ScenarioName): string {
  const base = assignments(BASE);
  const changes = new Map(
    [...assignments(name)].filter(
      ([member, value]) => base.get(member) !== value,
    ),
  );
  const { orders } = scenarios[name](SOME_TIME);
  if (orders !== scenarios[BASE](SOME_TIME).orders) {
    if (orders.size > 0) {
      throw new Error(`${name} has orders of its own`);
    }
    changes.set("orderIDs", "new uint256[](0)");
    changes.set("orders", "new VaultReader.Order[](0)");
  }
  return `if (scenario == Scenario.${nameOf(name)}) {
    ${lines(changes)}
}`;
}

/** All members but the orders; times as expressions of the chain's. */
function assignments(name: ScenarioName): Assignments {
  const members = new Map(membersOf(scenarios[name](SOME_TIME)));
  for (const field of ["startTime", "endTime"] as const) {
    members.set(
      `round.${field}`,
      time((chainTime) => scenarios[name](chainTime).round[field]),
    );
  }
  return members;
}

function* membersOf(state: MockState): Generator<[string, string]> {
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
      yield [`${prefix}.${field}`, literal(value)];
    }
  }
  for (const [member, value] of Object.entries(rest)) {
    yield [member, literal(value)];
  }
}

function baseOrders() {
  return [...scenarios[BASE](SOME_TIME).orders];
}

function renderOrder(
  [id, order]: ReturnType<typeof baseOrders>[number],
  index: number,
): string {
  return [
    `state.orderIDs[${index}] = ${id};`,
    ...Object.entries(order ?? {})
      .map(([field, value]) => [
        field,
        field === "holder" ? getAddress(String(value)) : literal(value),
      ])
      .filter(([, value = ""]) => !zeros.has(value))
      .map(([field, value]) => `state.orders[${index}].${field} = ${value};`),
  ].join("\n");
}

function literal(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value);
  }
  if (typeof value === "bigint" || typeof value === "number") {
    return amount(BigInt(value));
  }
  if (typeof value === "boolean") {
    return String(value);
  }
  throw new Error(`a value that this does not know: ${String(value)}`);
}

function time(at: (chainTime: bigint) => bigint): string {
  const offset = at(SOME_TIME) - SOME_TIME;
  if (offset % DAY_SECONDS !== 0n || at(0n) !== (offset < 0n ? 0n : offset)) {
    throw new Error(`a time that this does not know: chain's + ${offset} s`);
  }
  const days = `${(offset < 0n ? -offset : offset) / DAY_SECONDS} days`;
  return offset < 0n ? `_ago(${days})` : `block.timestamp + ${days}`;
}

/** As one would write it: in units of 1e18 where there are such. */
function amount(value: bigint): string {
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
