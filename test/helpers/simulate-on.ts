import { simulateSettleAll } from "../../src/simulation/simulate.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { fieldsOf, listOf } from "./fields.js";
import type { ScriptedNode } from "./scripted-node.js";

export async function simulateOn(
  node: ScriptedNode,
  options: SimulateSettleAllOptions = {},
  network: Parameters<ScriptedNode["host"]>[0] = {},
): Promise<Simulation> {
  return (await simulateSettleAll(node.host(network), options)).simulation;
}

/** Refuses a request of a scripted node. */
export const refuse =
  (message: string, code = -32_000) =>
  (): never => {
    throw Object.assign(new Error(message), { code });
  };

/** The change that a simulation predicts of the sender's native balance, in wei. */
export const feeIn = ({ balances }: Simulation): bigint | undefined =>
  balances[0] === undefined
    ? undefined
    : balances[0].before - balances[0].after;

type Answer = Readonly<Record<string, unknown>>;

/** What a node was asked to simulate last: the block, and the base. */
export function askedOf({ asked }: ScriptedNode): {
  readonly base: unknown;
  readonly traceTransfers: unknown;
  readonly blockOverrides: Answer;
  readonly stateOverrides: Answer;
  readonly calls: readonly Answer[];
} {
  const [payload, base] =
    asked.findLast(({ method }) => method === "eth_simulateV1")?.params ?? [];
  const { blockStateCalls, traceTransfers } = fieldsOf(payload);
  const block = fieldsOf(listOf(blockStateCalls)[0]);
  return {
    ...{ base, traceTransfers },
    blockOverrides: fieldsOf(block["blockOverrides"]),
    stateOverrides: fieldsOf(block["stateOverrides"]),
    calls: listOf(block["calls"]).map(fieldsOf),
  };
}

/** Place of the settlement: reads and a loan before, and as many reads after it. */
export function settlementIn(calls: readonly unknown[]): number {
  return calls.length / 2;
}

/** Changes the block that a node's `eth_simulateV1` returns. */
export function changeSimulated(
  node: ScriptedNode,
  change: (block: Answer, calls: readonly unknown[]) => unknown,
): void {
  node.on("eth_simulateV1", async (_, answer) => {
    const block = fieldsOf(listOf(await answer())[0]);
    return change(block, listOf(block["calls"]));
  });
}

/** @param change Gets the place of a call: the settlement has 0, readings before it are below. */
export function changeCalls(
  node: ScriptedNode,
  change: (place: number, call: Answer, calls: readonly unknown[]) => Answer,
): void {
  changeSimulated(node, (block, calls) => [
    {
      ...block,
      calls: calls.map((each, index) => {
        const call = fieldsOf(each);
        return { ...call, ...change(index - settlementIn(calls), call, calls) };
      }),
    },
  ]);
}

export function changeSettlement(node: ScriptedNode, change: Answer): void {
  changeCalls(node, (place) => (place === 0 ? change : {}));
}

/** Changes words of what the lens returns of a block, before and after the settlement. */
export function changeFacts(
  node: ScriptedNode,
  changes: {
    readonly before?: Readonly<Record<number, bigint>>;
    readonly after?: Readonly<Record<number, bigint>>;
  },
): void {
  changeCalls(node, (place, { returnData }, calls) => {
    const isBefore = place === -settlementIn(calls);
    const changed = isBefore ? changes.before : changes.after;
    if (changed === undefined || (!isBefore && place !== 1)) {
      return {};
    }
    let data = String(returnData);
    for (const [at, value] of Object.entries(changed)) {
      const [start, end] = [2 + 64 * Number(at), 66 + 64 * Number(at)];
      const word = value.toString(16).padStart(64, "0");
      data = `${data.slice(0, start)}${word}${data.slice(end)}`;
    }
    return { returnData: data };
  });
}

/** Places of words in that answer. */
export const FACTS = {
  time: 1,
  senderBalance: 4,
  secondBalance: 6,
  secondCode: 7,
} as const;
