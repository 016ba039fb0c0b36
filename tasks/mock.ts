import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { connectMocks } from "../src/mocks/deploy-mocks.js";
import {
  readClock,
  requireDevelopmentNode,
} from "../src/mocks/mock-contracts.js";
import { checkTarget } from "../src/mocks/failure.js";
import type { FailureCondition, ScriptedReason } from "../src/mocks/types.js";
import type { OperationName } from "../src/protocol/index.js";
import type { MockVaultHandle } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted } from "../src/escape.js";
import {
  failTask,
  nextRoundTask,
  setTask,
  succeedTask,
} from "./definitions/mock.js";
import { readEnvelope, withVault } from "./open-vault.js";
import type { Options, ValuesOf } from "./definitions/options.js";
import { notes, title } from "./output/blocks.js";
import { parseAssignments, parseChanges } from "./parse-changes.js";
import type { Assignment } from "./parse-changes.js";
import { taskAction } from "./run-task.js";
import type { CommonValues, Task, TaskValues } from "./definitions/shared.js";

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
  return taskAction(described, async (args, surroundings) => {
    const script = prepare(args);
    return await withVault(surroundings, "write", args, async (vault) => {
      await requireDevelopmentNode(vault);
      const mocks = await connectMocks(vault);
      const { json, text } = await script(
        mocks,
        Number(await readClock(vault)),
      );
      const envelope = await readEnvelope(vault);
      return {
        json: { ...envelope, mock: json },
        blocks: [title("Mocks scripted", envelope), notes(text)],
      };
    });
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
    text: [
      operation,
      ...(pool === undefined ? [] : [`of the ${pool} pool`]),
      ...(orderID === undefined ? [] : [`of order ${orderID}`]),
      ...(from === undefined ? [] : [`from ${from}`]),
    ].join(" "),
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
