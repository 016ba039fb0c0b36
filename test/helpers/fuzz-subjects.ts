import { isDeepStrictEqual } from "node:util";

import { encodeCall } from "../../src/client/codec.js";
import {
  operationEntry,
  operations,
  readOperationNames,
  get,
  standaloneQueries,
  targetsOf,
} from "../../src/protocol/index.js";
import type {
  ContractRole,
  OperationName,
  ReadOperationName,
} from "../../src/protocol/index.js";
import { findBlock } from "../../src/simulation/next-block.js";
import { simulateSettlement } from "../../src/simulation/simulate-settle-all.js";
import type { HttpEngine } from "../../src/simulation/options.js";
import type { Simulation } from "../../src/simulation/types.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { VaultError } from "../../src/client/index.js";
import type { BareHost } from "./bare-host.js";
import { fieldsOf } from "./fields.js";
import { decodeGenerally } from "./general-decoder.js";
import {
  documentedAnswer,
  documentedContracts,
  documentedNode,
} from "./scripted-node.js";
import type { ContractAnswer, ContractCall } from "./scripted-node.js";

/** The newest block of the node. */
export const HEAD = 40;
/** Who settles in a simulation. */
export const SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const ORDERS = { firstId: 1n, lastId: 4n };

/** Digits. */
const WORD = 64;

/** Answers of contracts to a call, as 0x hex or as "revert". */
type Said = (call: Partial<ContractCall>) => readonly string[];

/**
 * Tells what is wrong with a result, held against what contracts said; without
 * `said`, the node itself lied, and any well-formed value will do.
 */
type Check = (said: Said | undefined) => string | undefined;

/** One thing that can be asked of a vault. */
export interface Subject {
  readonly name: string;
  readonly run: (host: BareHost, timeout?: number) => Promise<Check>;
}

/**
 * A node that tells truly what its contracts say, and what they said to it.
 *
 * @param hasHistory Whether the round was another one each seven blocks.
 * @param change Makes what a contract says of the documented answer.
 */
export function honestNode(
  overrides: boolean,
  hasHistory: boolean,
  change: (answer: ContractAnswer, call: ContractCall) => ContractAnswer,
): { readonly node: Eip1193Provider; readonly said: Said } {
  const all: Array<ContractCall & { readonly answer: string }> = [];
  const node = documentedNode({
    head: HEAD,
    overrides,
    answerOf: (call) => {
      const isRound = call.data === operations.getLatestRoundInfo.selector;
      const { data, reverted } = change(
        isRound ? roundAt(call, hasHistory) : documentedAnswer(call),
        call,
      );
      // No contract returns half a byte.
      const whole = data.length % 2 === 0 ? data : `${data}0`;
      all.push({ ...call, answer: reverted ? "revert" : whole });
      return { reverted, data: whole };
    },
  });
  const said: Said = ({ to, data, block, phase }) =>
    all
      .filter(
        (call) =>
          call.to.toLowerCase() === to?.toLowerCase() &&
          call.data === data &&
          (block === undefined || call.block === block) &&
          (phase === undefined || call.phase === phase),
      )
      .map(({ answer }) => answer);
  return { node, said };
}

/** The round at a block, which is settled after a simulated settlement only. */
function roundAt(call: ContractCall, hasHistory: boolean): ContractAnswer {
  const { reverted, data } = documentedAnswer(call);
  const startTime = Math.floor(call.block / 7) + 1;
  const place = 2 + 5 * WORD;
  const dated = hasHistory
    ? `${data.slice(0, place)}${hexWord(startTime)}${data.slice(place + WORD)}`
    : data;
  const settled = hexWord(call.phase === "after" ? 1 : 0);
  return { reverted, data: `${dated.slice(0, -WORD)}${settled}` };
}

const hexWord = (value: number): string =>
  value.toString(16).padStart(WORD, "0");

const callOf = (
  operation: OperationName,
  role: ContractRole,
  args: readonly unknown[],
): Pick<ContractCall, "to" | "data"> => ({
  to: documentedContracts[role],
  data: encodeCall(operation, args).data,
});

/** All that a contract is asked. */
export const calls = [
  ...readOperationNames.flatMap((name) =>
    callsOf(name).map(({ role, args }) => callOf(name, role, args)),
  ),
  ...standaloneQueries.map(({ operation, role, args }) =>
    callOf(operation, role, args),
  ),
  ...[1n, 2n, 3n, 4n].map((id) => callOf("getOrderInfo", "trading", [id])),
  callOf("settleAll", "vault", []),
];

/** What is wrong with an error: it has to be one of ours, and fit to be shown. */
export function problemOfError(error: unknown): string | undefined {
  if (!VaultError.isVaultError(error)) {
    return `raw ${error instanceof Error ? error.stack : String(error)}`;
  }
  if (error.kind !== "rpc" && error.kind !== "chain") {
    return `${error.kind}'s error: ${error.stack}`;
  }
  if (error.message.length > 10_000) {
    return `${error.message.length} characters of text`;
  }
  // eslint-disable-next-line no-control-regex -- it is what must not be there
  return /[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/u.test(error.message)
    ? `text that commands a terminal: ${JSON.stringify(error.message)}`
    : undefined;
}

const reads = readOperationNames.flatMap((name) =>
  callsOf(name).map(({ role, args }): Subject => ({
    name,
    run: async (host, timeout) => {
      const method: unknown = Reflect.get(host, name);
      const value: unknown =
        typeof method === "function"
          ? await Reflect.apply(method, host, [...args, { timeout }])
          : "no method";
      return (said) =>
        problemOfValue(name, value, said?.(callOf(name, role, args)));
    },
  })),
);
const snapshot: Subject = {
  name: "snapshot",
  run: async (host, timeout) => {
    const taken = await host.snapshot({ timeout });
    return (said) =>
      firstOf(
        standaloneQueries.map(({ operation, args, role, path }) =>
          problemOfReading(
            operation,
            get(taken, path),
            said?.(callOf(operation, role, args)),
          ),
        ),
      );
  },
};
const orders: Subject = {
  name: "orders",
  run: async (host, timeout) => {
    const found = await Array.fromAsync(host.orders({ ...ORDERS, timeout }));
    const ids = found.map(({ orderID }) => orderID).join();
    return (said) =>
      ids === "1,2,3,4"
        ? firstOf(
            found.map((order) =>
              problemOfReading(
                "getOrderInfo",
                order,
                said?.(callOf("getOrderInfo", "trading", [order.orderID])),
              ),
            ),
          )
        : `orders ${ids}`;
  },
};
const rounds: Subject = {
  name: "rounds",
  run: async (host, timeout) => {
    const found = await Array.fromAsync(host.rounds({ timeout }));
    const call = callOf("getLatestRoundInfo", "vaultFactory", []);
    return (said) =>
      firstOf(
        found.map((round) =>
          problemOfValue(
            "getLatestRoundInfo",
            round,
            said?.({ ...call, block: round.lastBlock }),
          ),
        ),
      );
  },
};
const blocks = (["latest", 7] as const).map((tag): Subject => ({
  name: `block ${tag}`,
  run: async (host) => {
    const block = await host.block(tag);
    return () =>
      Number.isSafeInteger(block.number) &&
      Number.isSafeInteger(block.timestamp) &&
      (tag === "latest" || tag === block.number)
        ? undefined
        : `block ${JSON.stringify(block)}`;
  },
}));
const engines = (["simulateV1", "call"] as const).map((engine): Subject => ({
  name: engine,
  run: async (host, timeout) => {
    const simulation = await simulate(host.withDeadline({ timeout }), engine);
    return (said) => problemOfSimulation(simulation, said);
  },
}));

/** All that can be asked of a vault; what has more to it is asked more often. */
export const subjects: readonly Subject[] = [
  ...[...reads, rounds, ...blocks, snapshot, orders, ...engines],
  ...[snapshot, orders, ...engines, ...engines],
];

/** Every way to ask for an operation. */
export function callsOf(
  name: ReadOperationName,
): ReadonlyArray<{ readonly role: ContractRole; readonly args: unknown[] }> {
  const { inputs } = operationEntry(name);
  const values = inputs.map(({ unit }) => (unit === "contractType" ? 1 : 1n));
  const given =
    inputs.length <= 1
      ? values
      : [
          Object.fromEntries(
            inputs.map((field, at) => [field.name, values[at]]),
          ),
        ];
  return targetsOf(name).map(({ variant, role }) => ({
    role,
    args: [...(variant === undefined ? [] : [variant]), ...given],
  }));
}

/** Those that a simulation reads before and after. */
export const WATCHED_ORDERS = [1n, 2n];

async function simulate(
  host: BareHost,
  engine: HttpEngine,
): Promise<Simulation> {
  const { simulation } = await simulateSettlement(
    host,
    { sender: SENDER, orderIDs: WATCHED_ORDERS, engines: [engine] },
    await findBlock(host),
  );
  return simulation;
}

function problemOfReading(
  name: ReadOperationName,
  reading: unknown,
  said: readonly string[] | undefined,
): string | undefined {
  const isFailed =
    typeof reading === "object" && reading !== null && "error" in reading;
  if (!isFailed) {
    return problemOfValue(name, reading, said);
  }
  const { error } = reading;
  return (
    problemOfError(error) ??
    (said !== undefined &&
    said.length > 0 &&
    said.every((data) => decodeGenerally(name, data) !== undefined)
      ? `${String(error)} instead of what was said: ${said.join()}`
      : undefined)
  );
}

/** A value has to be what ethers makes of something that the node said. */
function problemOfValue(
  name: ReadOperationName,
  value: unknown,
  said: readonly string[] | undefined,
): string | undefined {
  if (said === undefined) {
    return undefined;
  }
  const { outputs } = operationEntry(name);
  const named = Object.fromEntries(
    outputs.map((field) => [
      field.name,
      outputs.length === 1 ? value : fieldsOf(value)[field.name],
    ]),
  );
  return said.some((data) =>
    isDeepStrictEqual(decodeGenerally(name, data), named),
  )
    ? undefined
    : `${inspectBigints(named)} where the node said ${said.join()}`;
}

function problemOfSimulation(
  { status, changes }: Simulation,
  said: Said | undefined,
): string | undefined {
  if (
    !["settled", "not-settled", "reverted", "nothing-to-do"].includes(status)
  ) {
    return `status ${status}`;
  }
  const readings = [
    ...standaloneQueries,
    ...WATCHED_ORDERS.map((orderID) => ({
      operation: "getOrderInfo" as const,
      role: "trading" as const,
      args: [orderID],
      path: ["orders", orderID.toString()],
    })),
  ];
  return firstOf(
    changes.map(({ reading, field, before, after }) => {
      const found = readings.find(({ path }) => path.join(".") === reading);
      if (found === undefined) {
        return `a change of ${reading}`;
      }
      if (field === "error" || said === undefined) {
        return undefined;
      }
      const { operation, role, args } = found;
      const call = callOf(operation, role, args);
      const isSaid = (phase: ContractCall["phase"], value: unknown): boolean =>
        said({ ...call, phase }).some(
          (data) => decodeGenerally(operation, data)?.[field] === value,
        );
      return isSaid("before", before) && isSaid("after", after)
        ? undefined
        : `${reading}.${field} from ${String(before)} to ${String(after)}`;
    }),
  );
}

function firstOf(
  problems: ReadonlyArray<string | undefined>,
): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

function inspectBigints(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? `${inner}n` : inner,
  );
}
