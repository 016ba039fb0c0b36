import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { describeInput, parseTime } from "../src/client/inputs.js";
import { invalidArgument } from "../src/errors.js";
import { mockScales } from "../src/mocks/scenarios.js";
import { checkChanges } from "../src/mocks/state.js";
import type { StateChanges } from "../src/mocks/state.js";
import { connectMocks } from "../src/mocks/deploy-mocks.js";
import {
  readClock,
  requireDevelopmentNode,
} from "../src/mocks/mock-contracts.js";
import type { FailureCondition } from "../src/mocks/types.js";
import type { MockVaultHandle } from "../src/plugin/hardhat-vault.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import { escapeUntrusted } from "../src/escape.js";
import {
  deployMocksTask,
  failTask,
  nextRoundTask,
  setTask,
  succeedTask,
} from "./definitions.js";
import { readEnvelope, writeAction } from "./open-vault.js";

import type { CommonValues, TaskValues } from "./definitions.js";
import type { Task } from "./parse-options.js";
import { labelledValues, notes, present, title } from "./output/blocks.js";
import { say } from "./output/render-text.js";

/** The value of the key `mock`, and the same as a line of text. */
interface Scripted {
  readonly json: object;
  readonly text: string;
}

/** @param script Its `now` is the time of the chain's next block, Unix seconds. */
function scriptingAction<Values extends CommonValues>(
  task: Task<Values>,
  script: (
    mocks: MockVaultHandle,
    args: Values,
    now: number,
  ) => Promise<Scripted>,
): NewTaskActionFunction {
  return writeAction(task, async (vault, args) => {
    await requireDevelopmentNode(vault);
    const mocks = await connectMocks(vault);
    const now = Number(await readClock(vault));
    const { json, text } = await script(mocks, args, now);
    const envelope = await readEnvelope(vault);
    return {
      json: { ...envelope, mock: json },
      blocks: [title("Mocks scripted", envelope), notes(text)],
    };
  });
}

export const deployMocks = writeAction(
  deployMocksTask,
  async (vault, args, { terminal: { err } }) => {
    const { scenario = "open-round", instance } = args;
    const { addresses } = await vault.deployMocks({
      scenario,
      allowLiveNetwork: args.yes,
    });
    const envelope = await readEnvelope(vault);
    const file = await vault.deployments?.save({
      block: envelope.block.number,
      scenario,
      contracts: addresses,
      scales: mockScales,
    });
    if (file === undefined) {
      const text =
        "This network lives in this process: the mocks end with it. For mocks that stay, start `npx hardhat node` and pass --network.";
      await say(err, notes(text));
    }
    const option = instance === undefined ? "" : ` with --instance ${instance}`;
    return {
      json: { ...envelope, contracts: addresses, scenario },
      blocks: [
        title(`Mocks deployed (${scenario})`, envelope),
        labelledValues(
          contractRoleNames.map((role) => [
            contractRoles[role].label,
            addresses[role],
          ]),
        ),
        notes(
          file !== undefined &&
            `Written to ${file}; tasks on this chain${option} use them if the configuration names no address.`,
        ),
      ],
    };
  },
);

export const set = scriptingAction(setTask, async (mocks, args, now) => {
  const { changes, shown } = parseChanges(args.changes, now);
  await mocks.set(changes);
  return { json: { set: changes }, text: shown };
});

export const nextRound = scriptingAction(
  nextRoundTask,
  async (mocks, { terms }, now) => {
    const { changes, shown } = parseChanges(terms, now, "round.");
    await mocks.startNextRound(changes.round);
    return {
      json: { round: await mocks.vault.getLatestRoundInfo() },
      text: `A new round is open${shown === "" ? "" : `: ${shown}`}.`,
    };
  },
);

export const fail = scriptingAction(failTask, async (mocks, args) => {
  const { reason } = args;
  const { condition, json, text } = describeCalls(args);
  const data = reason.toLowerCase();
  const isData = /^0x(?:[0-9a-f]{2})*$/u.test(data);
  await mocks.fail(args.operation, isData ? { data } : reason, condition);
  return {
    json: { ...json, reason },
    text: `${text} reverts from now on: ${escapeUntrusted(reason)}`,
  };
});

export const succeed = scriptingAction(succeedTask, async (mocks, args) => {
  const { condition, json, text } = describeCalls(args);
  await mocks.succeed(args.operation, condition);
  return { json, text: `${text} succeeds again.` };
});

/** The calls that `mock fail` and `mock succeed` mean. */
function describeCalls({
  operation,
  pool,
  orderId: orderID,
  from,
}: TaskValues<typeof succeedTask>) {
  const args = [pool, orderID].filter((each) => each !== undefined);
  // the mocks check the arguments
  const condition = {
    from,
    args: args.length === 0 ? undefined : args,
  } as FailureCondition;
  const text = present([
    operation,
    pool !== undefined && `of the ${pool} pool`,
    orderID !== undefined && `of order ${orderID}`,
    from !== undefined && `from ${from}`,
  ]).join(" ");
  const json = {
    operation,
    pool: pool ?? null,
    orderID: orderID ?? null,
    from: from ?? null,
  };
  return { condition, json, text };
}

interface Level {
  [key: string]: unknown;
}

/**
 * Parses values such as `round.strikePrice=65000e18`. Refuses unknown paths.
 *
 * @param now Unix seconds; `+7d` counts from it.
 * @param prefix Of every path.
 */
function parseChanges(
  texts: readonly string[],
  now: number,
  prefix = "",
): { readonly changes: StateChanges; readonly shown: string } {
  const changes = emptyLevel();
  const paths: string[] = [];
  const shown = texts.map((typed) => {
    const [, name, text = ""] = /^([^=]+)=(.*)$/su.exec(typed) ?? [];
    if (name === undefined) {
      throw invalidArgument(
        describeInput(typed),
        `it is not path=value, as in ${prefix === "" ? "round." : ""}strikePrice=65000e18`,
      );
    }
    const path = (prefix + name).replace(/^orders\.0+(?=[0-9])/u, "orders.");
    const isWithin = (one: string, other: string): boolean =>
      `${one}.`.startsWith(`${other}.`);
    if (paths.some((one) => isWithin(one, path) || isWithin(path, one))) {
      throw invalidArgument(
        describeInput(path),
        "another value of this place is given, too: one would be lost",
      );
    }
    paths.push(path);
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    let level = changes;
    for (const key of keys) {
      // a value there was refused above
      level = (level[key] ??= emptyLevel()) as Level;
    }
    level[last] = parseValue(path, text, now);
    return escapeUntrusted(`${path.slice(prefix.length)} = ${text}`);
  });
  return { changes: checkChanges(changes), shown: shown.join(", ") };
}

/** Without a prototype, whose keys somebody could type. */
function emptyLevel(): Level {
  // Object.create() returns any
  return Object.create(null) as Level;
}

/** The times of a round, which may also be a date or a duration. */
const times = ["round.startTime", "round.endTime"];

/** What `none` removes. */
const removable = /^(?:orders\.[^.]+|generatedOrders|settlement\.reward)$/u;

function parseValue(path: string, text: string, now: number): unknown {
  if (times.includes(path)) {
    return parseTime(text, path, now);
  }
  return text === "none" && removable.test(path) ? null : text;
}
