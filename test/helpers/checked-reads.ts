import { isDeepStrictEqual } from "node:util";

import { VaultError } from "../../src/client/index.js";
import { encodeCall } from "../../src/client/codec.js";
import { toJsonValue } from "../../src/json.js";
import {
  get,
  operationEntry,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type {
  OperationName,
  ReadOperationName,
} from "../../src/protocol/index.js";
import { getNextBlock } from "../../src/rpc/blocks.js";
import { findRoute } from "../../src/guard/call.js";
import { priceOf } from "../../src/sending/fees.js";
import { simulate } from "../../src/simulation/simulate.js";
import type { Simulation } from "../../src/simulation/types.js";
import type { BareHost } from "./bare-host.js";
import { callMethod } from "./call-method.js";
import { expectedReads } from "./distinct-state.js";
import { fieldsOf } from "./fields.js";
import { decodeGenerally } from "./general-decoder.js";
import { FIRST } from "./names.js";
import { documentedContracts } from "./documented-node.js";
import type { ContractCall } from "./scripted-contracts.js";

/** Those that a simulation reads before and after. */
export const WATCHED_ORDERS = [1n, 2n];
const ORDERS = { firstId: 1n, lastId: 4n };

/** Answers of contracts to a call, as 0x hex or as "revert". */
export type Said = (call: Partial<ContractCall>) => readonly string[];

/**
 * Tells what is wrong with a result, held against what contracts said; without
 * `said`, the node itself lied, and any well-formed value will do.
 */
type Check = (said: Said | undefined) => string | undefined;

interface Subject {
  readonly name: string;
  readonly run: (host: BareHost, timeout?: number) => Promise<Check>;
}

const callOf = (
  operation: OperationName,
  args: readonly unknown[],
): Pick<ContractCall, "to" | "data"> => {
  const { role, data } = encodeCall(operation, args);
  return { to: documentedContracts[role], data };
};

export const calls = [
  ...expectedReads.map(({ operation, args }) => callOf(operation, args)),
  ...[1n, 2n, 3n, 4n].map((id) => callOf("getOrderInfo", [id])),
  callOf("settleAll", []),
];

/** What is wrong with an error: it has to be one of ours, and fit to be shown. */
export function problemOfError(error: unknown): string | undefined {
  if (!VaultError.isVaultError(error)) {
    return `raw ${error instanceof Error ? error.stack : String(error)}`;
  }
  // A chain with such an id may exist: it is the user who has to choose another.
  const isUsers = error.message.includes("chain ids above 2^53");
  if (error.kind !== "rpc" && error.kind !== "chain" && !isUsers) {
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

const reads = expectedReads.map(({ operation, args }): Subject => ({
  name: `${operation} ${args.map(String).join()}`,
  run: async (host, timeout) => {
    const value = await callMethod(host, operation, ...args, { timeout });
    return (said) =>
      problemOfValue(operation, value, said?.(callOf(operation, args)));
  },
}));
const snapshot: Subject = {
  name: "snapshot",
  run: async (host, timeout) => {
    const taken = await host.snapshot({ timeout });
    return (said) =>
      firstOf(
        standaloneQueries.map(({ operation, args, path }) =>
          problemOfReading(
            operation,
            get(taken, path),
            said?.(callOf(operation, args)),
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
                said?.(callOf("getOrderInfo", [order.orderID])),
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
    const call = callOf("getLatestRoundInfo", []);
    return (said) =>
      firstOf(
        found.map((round) =>
          problemOfValue(
            "getLatestRoundInfo",
            round,
            said?.({ ...call, block: round.lastBlock }),
            unlessSettled,
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
const simulation: Subject = {
  name: "simulateV1",
  run: async (host, timeout) => {
    const patient = host.withOptions({ timeout });
    const next = await getNextBlock(patient.rpc);
    const contracts = await patient.locateAll();
    const route = await findRoute(patient, FIRST, next.base);
    const watched = { contracts, orderIDs: WATCHED_ORDERS };
    const { simulation: found } = await simulate(
      patient,
      {
        ...watched,
        route,
        price: priceOf({ gasPrice: 0n }),
        engine: "simulateV1",
      },
      next,
    );
    return (said) => problemOfSimulation(found, said);
  },
};

export const subjects: readonly Subject[] = [
  ...reads,
  ...blocks,
  rounds,
  snapshot,
  orders,
  simulation,
];

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
    said.every(
      (data) =>
        // ethers ignores a part of a word.
        (data.length - "0x".length) % 64 === 0 &&
        decodeGenerally(name, data) !== undefined,
    )
      ? `${String(error)} instead of what was said: ${said.join()}`
      : undefined)
  );
}

/** Of a past round that is not settled, no price was seen. */
function unlessSettled(decoded: unknown): unknown {
  const round = fieldsOf(decoded);
  return decoded === undefined || round["settled"] === true
    ? decoded
    : { ...round, settledPrice: null, settledAmount: null };
}

/** A value has to be what ethers makes of something that the node said. */
function problemOfValue(
  name: ReadOperationName,
  value: unknown,
  said: readonly string[] | undefined,
  shown: (decoded: unknown) => unknown = (decoded) => decoded,
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
    isDeepStrictEqual(shown(decodeGenerally(name, data)), named),
  )
    ? undefined
    : `${JSON.stringify(toJsonValue(named))} where the node said ${said.join()}`;
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
      const { operation, args } = found;
      const call = callOf(operation, args);
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
