import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { deepMerge } from "@nomicfoundation/hardhat-utils/lang";

import { describeInput } from "../src/client/inputs.js";
import { parseTime } from "../src/client/parse-time.js";
import { checkValue } from "../src/mocks/values.js";
import type { CheckedField } from "../src/mocks/values.js";
import { invalidArgument } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { answers, orderFields, settlementFields } from "../src/mocks/state.js";
import { placesOf } from "../src/protocol/index.js";
import { connectMocks } from "../src/mocks/deploy-mocks.js";
import {
  readClock,
  requireDevelopmentNode,
} from "../src/mocks/mock-contracts.js";
import { checkTarget } from "../src/mocks/failure.js";
import type {
  FailureCondition,
  MockOverrides,
  ScriptedReason,
} from "../src/mocks/types.js";
import type { OperationName } from "../src/protocol/index.js";
import type { MockVaultHandle } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted } from "../src/escape.js";
import {
  failTask,
  nextRoundTask,
  setTask,
  succeedTask,
} from "./definitions/mock.js";
import { readEnvelope, writeAction } from "./open-vault.js";
import type { Options, ValuesOf } from "./definitions/options.js";
import type { CommonValues, Task, TaskValues } from "./definitions/shared.js";
import { notes, present, title } from "./output/blocks.js";

/** The value of the key `mock`, and the same as a line of text. */
interface Scripted {
  readonly json: object;
  readonly text: string;
}

/** @param prepare Parses the arguments, without any request. */
function scriptingAction<Described extends Options>(
  described: Task<Described>,
  prepare: (
    args: ValuesOf<Described> & CommonValues,
  ) => (mocks: MockVaultHandle, now: number) => Promise<Scripted>,
): NewTaskActionFunction {
  return writeAction(described, async (vault, args) => {
    const script = prepare(args);
    await requireDevelopmentNode(vault);
    const mocks = await connectMocks(vault);
    const { json, text } = await script(mocks, Number(await readClock(vault)));
    const envelope = await readEnvelope(vault);
    return {
      json: { ...envelope, mock: json },
      blocks: [title("Mocks scripted", envelope), notes(text)],
    };
  });
}

export const set = scriptingAction(setTask, ({ changes }) => {
  const assignments = parseAssignments(changes);
  // Refuses wrong paths and values before any request.
  parseChanges(assignments, 0);
  return async (mocks, now) => {
    const parsed = parseChanges(assignments, now);
    await mocks.set(parsed);
    return { json: { set: parsed }, text: describeAssignments(assignments) };
  };
});

export const nextRound = scriptingAction(nextRoundTask, ({ terms }) => {
  const assignments = parseAssignments(terms, "strikePrice=65000e18");
  const ofRound = assignments.map(({ path, text }) => ({
    path: `round.${path}`,
    text,
  }));
  parseChanges(ofRound, 0);
  return async (mocks, now) => {
    await mocks.startNextRound(parseChanges(ofRound, now).round);
    const round = await mocks.vault.getLatestRoundInfo();
    return {
      json: { round },
      text: `A new round is open${assignments.length === 0 ? "" : `: ${describeAssignments(assignments)}`}.`,
    };
  };
});

export const fail = scriptingAction(failTask, ({ reason, ...args }) => {
  const { operation, target, json, text } = parseTarget(args);
  return async (mocks) => {
    await mocks.fail(operation, parseReason(reason), target);
    return {
      json: { ...json, reason },
      text: `${text} reverts from now on: ${escapeUntrusted(reason)}`,
    };
  };
});

export const succeed = scriptingAction(succeedTask, (args) => {
  const { operation, target, json, text } = parseTarget(args);
  return async (mocks) => {
    await mocks.succeed(operation, target);
    return { json, text: `${text} succeeds again.` };
  };
});

function parseTarget({
  operation,
  pool,
  orderId: orderID,
  from,
}: Pick<
  TaskValues<typeof succeedTask>,
  "operation" | "pool" | "orderId" | "from"
>): Scripted & {
  readonly operation: OperationName;
  readonly target: FailureCondition;
} {
  const target: FailureCondition = { pool, orderID, from };
  checkTarget({ operation, ...target }, "The options");
  return {
    operation,
    target,
    json: {
      operation,
      pool: pool ?? null,
      orderID: orderID ?? null,
      from: from ?? null,
    },
    text: present([
      operation,
      pool !== undefined && `of the ${pool} pool`,
      orderID !== undefined && `of order ${orderID}`,
      from !== undefined && `from ${from}`,
    ]).join(" "),
  };
}

function parseReason(reason: string): ScriptedReason {
  return /^0x(?:[0-9a-f]{2})*$/iu.test(reason)
    ? { data: reason.toLowerCase() }
    : reason;
}

function describeAssignments(assignments: readonly Assignment[]): string {
  return assignments
    .map(({ path, text }) => escapeUntrusted(`${path} = ${text}`))
    .join(", ");
}

/** A typed value, for example `round.strikePrice=65000e18`. */
interface Assignment {
  readonly path: string;
  readonly text: string;
}

function parseAssignments(
  texts: readonly string[],
  example = "round.strikePrice=65000e18",
): readonly Assignment[] {
  const assignments = texts.map((each): Assignment => {
    const [, path, text] = /^([^=]+)=(.*)$/su.exec(each) ?? [];
    if (path === undefined || text === undefined) {
      throw invalidArgument(
        describeInput(each),
        `it is not path=value, as in ${example}`,
      );
    }
    return { path: path.replace(/^orders\.0+(?=[0-9])/u, "orders."), text };
  });
  for (const [index, { path }] of assignments.entries()) {
    const other = assignments
      .slice(0, index)
      .find(
        (earlier) =>
          `${path}.`.startsWith(`${earlier.path}.`) ||
          `${earlier.path}.`.startsWith(`${path}.`),
      );
    if (other !== undefined) {
      throw invalidArgument(
        describeInput(path),
        `it cannot be given together with ${describeInput(other.path)}: one would be lost`,
      );
    }
  }
  return assignments;
}

const fieldsByPath: ReadonlyMap<string, CheckedField> = new Map<
  string,
  CheckedField
>([
  ...answers
    .flatMap(placesOf)
    .map(({ path, field }) => [path.join("."), field] as const),
  ...settlementFields.map(
    (field) => [`settlement.${field.name}`, field] as const,
  ),
]);

/** @param now Unix seconds; `+7d` counts from it. */
function parseChanges(
  assignments: readonly Assignment[],
  now: number,
): MockOverrides {
  // The handle refuses unknown paths.
  let changes: object = {};
  for (const { path, text } of assignments) {
    const [group, , name] = path.split(".");
    if (path.split(".").includes("__proto__")) {
      // Merging would drop it.
      throw invalidArgument(path, "there is no such value");
    }
    const field =
      fieldsByPath.get(path) ??
      (group === "orders"
        ? orderFields.find((known) => known.name === name)
        : undefined);
    let change =
      field !== undefined
        ? parseField(field, path, text, now)
        : text === "none"
          ? null
          : text;
    for (const key of path.split(".").toReversed()) {
      change = { [key]: change };
    }
    changes = deepMerge(changes, asRecord(change));
  }
  return changes;
}

/** Parses an unscaled value; a time may also be a date or a duration. */
function parseField(
  field: CheckedField,
  where: string,
  text: string,
  now: number,
): unknown {
  const value =
    field.type === "uint256" && field.unit === "timestamp"
      ? parseTime(text, where, now)
      : text;
  return checkValue(field, value, where);
}
