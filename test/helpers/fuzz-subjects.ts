import { isDeepStrictEqual } from "node:util";

import { encodeCall } from "../../src/client/codec.js";
import { VaultError } from "../../src/errors.js";
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
  ReadOperationName,
} from "../../src/protocol/index.js";
import { findBlock } from "../../src/simulation/next-block.js";
import { simulateSettlement } from "../../src/simulation/simulate-settle-all.js";
import type { HttpEngine } from "../../src/simulation/options.js";
import type { Simulation } from "../../src/simulation/types.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import type { ListedOrder, PastRound } from "../../src/client/index.js";
import type { BareHost } from "./bare-host.js";
import { distinctState } from "./distinct-state.js";
import { decodeGenerally } from "./general-decoder.js";
import { fieldsOf } from "./fields.js";
import { connectTo } from "./hre.js";
import { ScriptedNode } from "./scripted-node.js";
import type { ContractAnswer, ContractCall } from "./scripted-node.js";
import { sendTransaction } from "./transactions.js";

/** The newest block of a recorded node. */
export const HEAD = 40;
/** Who settles in a simulation. */
export const SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const ORDERS = { firstId: 1n, lastId: 4n };

/** What anvil answers, with the mocks on it. */
export interface Recording {
  readonly contracts: Readonly<Record<ContractRole, string>>;
  readonly code: ReadonlyMap<string, string>;
  readonly answers: ReadonlyMap<string, ContractAnswer>;
}

/** Answers of contracts to a call, as 0x hex or as "revert". */
export type Said = (call: Partial<ContractCall>) => readonly string[];

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

/** A node that tells truly what its contracts say, and what they said to it. */
export function recordedNode(
  { answers, code }: Recording,
  {
    overrides = true,
    hasHistory = false,
    change = (_key, answer) => answer,
  }: {
    readonly overrides?: boolean;
    /** Whether the round was another one in the past. */
    readonly hasHistory?: boolean;
    /** What a contract says in place of what was recorded. */
    readonly change?: (
      key: string,
      answer: ContractAnswer,
      call: ContractCall,
    ) => ContractAnswer;
  } = {},
): { readonly node: Eip1193Provider; readonly said: Said } {
  const all: Array<ContractCall & { readonly answer: string }> = [];
  const answerOf = (call: ContractCall): ContractAnswer => {
    const key = keyOf({ ...call, phase: "before" });
    const recorded = answers.get(keyOf(call)) ??
      answers.get(key) ?? { reverted: true, data: "0x" };
    const then =
      hasHistory && call.data === operations.getLatestRoundInfo.selector
        ? { ...recorded, data: atBlock(recorded.data, call.block) }
        : recorded;
    const answer = evenly(change(key, then, call));
    all.push({ ...call, answer: answer.reverted ? "revert" : answer.data });
    return answer;
  };
  const node = new ScriptedNode({
    head: HEAD,
    overrides,
    answerOf,
    codeOf: (address) => code.get(address.toLowerCase()) ?? "0x",
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

/** No contract returns half a byte. */
function evenly({ data, reverted }: ContractAnswer): ContractAnswer {
  return { reverted, data: data.length % 2 === 0 ? data : `${data}0` };
}

/** The round as it was at a block: another one each seven blocks. */
function atBlock(data: string, block: number): string {
  const startTime = Math.floor(block / 7) + 1;
  const place = 2 + 5 * 64;
  return `${data.slice(0, place)}${startTime.toString(16).padStart(64, "0")}${data.slice(place + 64)}`;
}

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

/** All that can be asked of a vault. */
export function listSubjects(
  contracts: Readonly<Record<ContractRole, string>>,
): readonly Subject[] {
  const callOf = (
    name: ReadOperationName,
    role: ContractRole,
    args: readonly unknown[],
  ): { to: string; data: string } => ({
    to: contracts[role],
    data: encodeCall(name, args).data,
  });
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
      const found: ListedOrder[] = [];
      for await (const order of host.orders({ ...ORDERS, timeout })) {
        found.push(order);
      }
      const ids = found.map(({ orderID }) => orderID).join();
      return (said) =>
        ids === "1,2,3,4"
          ? firstOf(
              found.map(({ orderID, ...order }) =>
                problemOfReading(
                  "getOrderInfo",
                  order,
                  said?.(callOf("getOrderInfo", "trading", [orderID])),
                ),
              ),
            )
          : `orders ${ids}`;
    },
  };
  const rounds: Subject = {
    name: "rounds",
    run: async (host, timeout) => {
      const found: PastRound[] = [];
      for await (const round of host.rounds({ timeout })) {
        found.push(round);
      }
      return (said) =>
        firstOf(
          found.map(
            ({
              firstBlock: _first,
              settledBlock: _settled,
              lastBlock,
              outOfOrder: _order,
              unreadBlocks: _unread,
              ...round
            }) =>
              problemOfValue(
                "getLatestRoundInfo",
                round,
                said?.({
                  ...callOf("getLatestRoundInfo", "vaultFactory", []),
                  block: lastBlock,
                }),
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
      const { simulation } = await simulate(
        host.withDeadline({ timeout }),
        engine,
      );
      return (said) => problemOfSimulation(simulation, contracts, said);
    },
  }));
  const composed = [snapshot, orders, rounds, ...blocks, ...engines];
  // What has more to it is asked more often.
  return [...reads, ...composed, snapshot, orders, ...engines, ...engines];
}

/** Every way to ask for an operation, with arguments that anvil was asked too. */
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

export async function simulate(
  host: BareHost,
  engine: HttpEngine,
): Promise<{ readonly simulation: Simulation }> {
  return await simulateSettlement(
    host,
    { sender: SENDER, orderIDs: WATCHED_ORDERS, engines: [engine] },
    await findBlock(host),
  );
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
  const [only, ...others] = outputs;
  const named =
    only !== undefined && others.length === 0 ? { [only.name]: value } : value;
  return said.some((data) =>
    isDeepStrictEqual(decodeGenerally(name, data), named),
  )
    ? undefined
    : `${inspectBigints(named)} where the node said ${said.join()}`;
}

function problemOfSimulation(
  { status, changes }: Simulation,
  contracts: Readonly<Record<ContractRole, string>>,
  said: Said | undefined,
): string | undefined {
  if (
    !["settled", "not-settled", "reverted", "nothing-to-do"].includes(status)
  ) {
    return `status ${status}`;
  }
  const readings = [
    ...standaloneQueries,
    ...[1n, 2n].map((orderID) => ({
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
      const call = {
        to: contracts[role],
        data: encodeCall(operation, args).data,
      };
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

function keyOf({ to, data, phase }: Omit<ContractCall, "block">): string {
  return [to.toLowerCase(), data.toLowerCase(), phase].join(" ");
}

/** Asks anvil for everything that a case may come to, before and after. */
export async function record(url: string): Promise<Recording> {
  const { vault, provider } = await connectTo(url);
  const [order] = Object.values(distinctState.orders ?? {});
  const { addresses: contracts } = await vault.deployMocks({
    overrides: {
      ...distinctState,
      round: { ...distinctState.round, settled: false },
      orders: { 1: order ?? {}, 2: { ...order, exType: "" }, 3: { ...order } },
    },
  });
  const answers = new Map<string, ContractAnswer>();
  const calls = [
    ...readOperationNames.flatMap((name) =>
      callsOf(name).map(({ role, args }) => ({ role, name, args })),
    ),
    ...standaloneQueries.map(({ operation: name, role, args }) => ({
      role,
      name,
      args,
    })),
    ...[1n, 2n, 3n, 4n].map((orderID) => ({
      role: "trading" as const,
      name: "getOrderInfo" as const,
      args: [orderID],
    })),
    { role: "vault" as const, name: "settleAll" as const, args: [] },
  ];
  const ask = async (phase: ContractCall["phase"]): Promise<void> => {
    for (const { role, name, args } of calls) {
      const call = { to: contracts[role], data: encodeCall(name, args).data };
      const key = keyOf({ ...call, phase });
      try {
        const data: unknown = await provider.request({
          method: "eth_call",
          params: [{ from: SENDER, ...call }, "latest"],
        });
        answers.set(key, { reverted: false, data: String(data) });
      } catch (error) {
        const { data } = fieldsOf(error);
        answers.set(key, {
          reverted: true,
          data: typeof data === "string" ? data : "0x",
        });
      }
    }
  };
  await ask("before");
  const snapshot: unknown = await provider.request({ method: "evm_snapshot" });
  await sendTransaction(provider, {
    to: contracts.vault,
    data: operations.settleAll.selector,
  });
  await ask("after");
  await provider.request({ method: "evm_revert", params: [snapshot] });
  const code = new Map<string, string>();
  for (const address of Object.values(contracts)) {
    const found: unknown = await provider.request({
      method: "eth_getCode",
      params: [address, "latest"],
    });
    code.set(address.toLowerCase(), String(found));
  }
  return { contracts, code, answers };
}
