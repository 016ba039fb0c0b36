import path from "node:path";

import { deepMerge } from "@nomicfoundation/hardhat-utils/lang";
import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { describeInput, parseTime } from "../src/client/inputs.js";
import { invalidArgument } from "../src/errors.js";
import { escapeUntrusted, toSafeJson } from "../src/foreign-text.js";
import { asRecord } from "../src/json.js";
import { capture } from "../src/mocks/capture.js";
import { connectMocks } from "../src/mocks/deploy-mocks.js";
import {
  readClock,
  requireDevelopmentNode,
} from "../src/mocks/mock-contracts.js";
import { checkChanges } from "../src/mocks/state.js";
import type { StateChanges } from "../src/mocks/state.js";
import type { FailureCondition } from "../src/mocks/types.js";
import type { MockVaultHandle } from "../src/plugin/hardhat-vault.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import { tasks } from "./definitions.js";
import type { CommonValues, TaskValues } from "./definitions.js";
import { requireReplaceable, writeToFile } from "./output/listing.js";
import { labelledValues, notes, say, title, toned } from "./output/screen.js";
import { describeCount } from "./output/values.js";
import type { Task } from "./parse-options.js";
import {
  hideInOrder,
  readAction,
  readEnvelope,
  writeAction,
} from "./run-task.js";

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
      screen: [title("Mocks scripted", envelope), notes(text)],
    };
  });
}

export const deployMocks = writeAction(
  tasks["deploy-mocks"],
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
    });
    if (file === undefined) {
      const text =
        "This network lives in this process: the mocks end with it. For mocks that stay, start `npx hardhat node` and pass --network.";
      await say(err, notes(text));
    }
    const option = instance === undefined ? "" : ` with --instance ${instance}`;
    return {
      json: { ...envelope, contracts: addresses, scenario },
      screen: [
        title(`Mocks deployed (${scenario})`, envelope),
        labelledValues(
          contractRoleNames.map((role) => [
            capitalize(contractRoles[role].label),
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

export const set = scriptingAction(
  tasks["mock set"],
  async (mocks, args, now) => {
    const { changes, shown } = parseChanges(args.changes, now);
    await mocks.set(changes);
    return { json: { set: changes }, text: shown };
  },
);

export const nextRound = scriptingAction(
  tasks["mock next-round"],
  async (mocks, { terms }, now) => {
    const { changes, shown } = parseChanges(terms, now, "round.");
    await mocks.startNextRound(changes.round);
    return {
      json: { round: await mocks.vault.getLatestRoundInfo() },
      text: `A new round is open${shown === "" ? "" : `: ${shown}`}.`,
    };
  },
);

export const fail = scriptingAction(
  tasks["mock fail"],
  async (mocks, { reason, ...args }) => {
    const { condition, json, text } = describeCalls(args);
    const data = reason.toLowerCase();
    const isData = /^0x(?:[0-9a-f]{2})*$/u.test(data);
    await mocks.fail(args.operation, isData ? { data } : reason, condition);
    return {
      json: { ...json, reason },
      text: `${text} reverts from now on: ${escapeUntrusted(reason)}`,
    };
  },
);

export const succeed = scriptingAction(
  tasks["mock succeed"],
  async (mocks, args) => {
    const { condition, json, text } = describeCalls(args);
    await mocks.succeed(args.operation, condition);
    return { json, text: `${text} succeeds again.` };
  },
);

/** The calls that `mock fail` and `mock succeed` mean. */
function describeCalls({
  operation,
  pool,
  orderId,
  from,
}: TaskValues<"mock succeed">) {
  const args = [pool, orderId].filter((each) => each !== undefined);
  const condition = {
    ...(from !== undefined && { from }),
    ...(args.length > 0 && { args }),
  };
  const ofPool = pool === undefined ? "" : ` of the ${pool} pool`;
  const ofOrder = orderId === undefined ? "" : ` of order ${orderId}`;
  const caller = from === undefined ? "" : ` from ${from}`;
  return {
    // the mocks check the arguments
    condition: condition as FailureCondition,
    json: {
      operation,
      pool: pool ?? null,
      orderID: orderId ?? null,
      from: from ?? null,
    },
    text: `${operation}${ofPool}${ofOrder}${caller}`,
  };
}

/**
 * Parses values such as `round.strikePrice=65000e18`. Refuses unknown paths; of two values of
 * one place, the last counts.
 *
 * @param now Unix seconds; `+7d` counts from it.
 * @param prefix Of every path.
 */
function parseChanges(
  texts: readonly string[],
  now: number,
  prefix = "",
): { readonly changes: StateChanges; readonly shown: string } {
  let changes: object = {};
  const shown = texts.map((typed) => {
    const [, name, text = ""] = /^([^=]+)=(.*)$/su.exec(typed) ?? [];
    if (name === undefined) {
      throw invalidArgument(
        describeInput(typed),
        `it is not path=value, as in ${prefix === "" ? "round." : ""}strikePrice=65000e18`,
      );
    }
    const place = prefix + name;
    const change = place
      .split(".")
      .reduceRight<unknown>(
        (inner, key) => ({ [key]: inner }),
        parseValue(place, text, now),
      );
    changes = deepMerge(changes, asRecord(change));
    return `${name} = ${text}`;
  });
  return {
    changes: checkChanges(changes),
    shown: escapeUntrusted(shown.join(", ")),
  };
}

/** The times of a round, which may also be a date or a duration. */
const times = ["round.startTime", "round.endTime"];

/** What `none` removes. */
const removable = /^(?:orders\.[^.]+|generatedOrders|settlement\.reward)$/u;

function parseValue(place: string, text: string, now: number): unknown {
  if (times.includes(place)) {
    return parseTime(text, place, now);
  }
  return text === "none" && removable.test(place) ? null : text;
}

const NO_ORDERS =
  "No order was captured: in a replay each order reverts, and says so. --ids 1-50 captures orders 1 to 50.";

export const captureAction = readAction(
  tasks.capture,
  async (vault, { out, ids: orders = [], block: blockTag }) => {
    // Checked first: a mistake should not cost a scan.
    await requireReplaceable(out);
    const captured = await capture(vault, { orders, blockTag });
    const { fixture, margins, failed } = captured;
    const recorded = Object.entries(asRecord(fixture["orders"])).map(
      ([id, order]) => [id, hideInOrder(vault, order)] as const,
    );
    const shown = { ...fixture, orders: Object.fromEntries(recorded) };
    await writeToFile(`${toSafeJson(shown, 2)}\n`, out);
    const { chainId, block } = fixture;
    const envelope = { network: vault.networkName, chainId, block };
    // The path that deployMocks() needs: relative to the project's root, with `/`.
    const { root } = vault.context.config.paths;
    const replayed = path.relative(root, path.resolve(out));
    const inTest = JSON.stringify(
      escapeUntrusted(replayed.replaceAll(path.sep, "/")),
    );
    const counted = { file: out, orders: orders.length, margins, failed };
    const hasNone = orders.length === 0;
    return {
      json: {
        ...envelope,
        fixture: { ...counted, ...(hasNone && { note: NO_ORDERS }) },
      },
      screen: [
        title("Vault captured", envelope),
        notes(
          `Every reading and ${describeCount(orders.length, "order id")} written to ${escapeUntrusted(out)}.`,
          hasNone && NO_ORDERS,
          "In a replay, calMargins reverts for other terms than those of the round.",
          failed > 0 &&
            toned(
              "warn",
              `${describeCount(failed, "reading")} failed: a replay fails there, too.`,
            ),
          `Replay it in a test: await connection.vault.deployMocks({ fixture: ${inTest} })`,
        ),
      ],
    };
  },
);
