import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";
import type { ContractAddresses } from "../../src/client/index.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { BareHost } from "./bare-host.js";
import { fieldsOf, listOf } from "./fields.js";
import { FACTORY, SETTLER, VAULT } from "./scripted-contracts.js";
import type { ScriptedNode } from "./scripted-node.js";

export interface SimulatedNetwork {
  readonly contracts?: ContractAddresses;
  /** Settings of the network beside its type. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** The host of a vault on a scripted node, whose gas price is automatic. */
export function hostOn(
  node: ScriptedNode,
  {
    contracts = { vault: VAULT, vaultFactory: FACTORY },
    settings,
  }: SimulatedNetwork = {},
): BareHost {
  return new BareHost(node, contracts, SETTLER, {
    networkConfig: { type: "http", gasPrice: "auto", ...settings },
    projectRoot: "",
  });
}

export async function simulateOn(
  node: ScriptedNode,
  options: SimulateSettleAllOptions = {},
  network?: SimulatedNetwork,
): Promise<Simulation> {
  return (await simulateSettleAll(hostOn(node, network), options)).simulation;
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

/** Place of the settlement: reads before, as many after it, and a gift at the end. */
export function settlementIn(calls: readonly unknown[]): number {
  return calls.length / 2 - 1;
}

type Answer = Readonly<Record<string, unknown>>;

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

/**
 * Changes what a node's `eth_simulateV1` returns of the settlement. If that fails, a call of
 * it does, too.
 */
export function changeSettlement(node: ScriptedNode, change: Answer): void {
  if (change["status"] === "0x0") {
    const { message, data } = fieldsOf(change["error"]);
    node.on("eth_call", () => {
      const text = typeof message === "string" ? message : "execution reverted";
      throw Object.assign(new Error(text), { code: 3, data });
    });
  }
  changeSimulated(node, (block, calls) => {
    const settlement = settlementIn(calls);
    return [
      {
        ...block,
        calls: calls.map((call, index) =>
          index === settlement ? { ...fieldsOf(call), ...change } : call,
        ),
      },
    ];
  });
}

/** Changes words of what the lens returns of a block, before and after the settlement. */
export function changeFacts(
  node: ScriptedNode,
  changes: {
    readonly before?: Readonly<Record<number, bigint>>;
    readonly after?: Readonly<Record<number, bigint>>;
  },
): void {
  changeSimulated(node, (block, calls) => {
    const ofPhase = new Map([
      [0, changes.before],
      [settlementIn(calls) + 1, changes.after],
    ]);
    return [
      {
        ...block,
        calls: calls.map((call, index) => {
          const { returnData } = fieldsOf(call);
          let data = String(returnData);
          for (const [at, value] of Object.entries(ofPhase.get(index) ?? {})) {
            const [start, end] = [2 + 64 * Number(at), 66 + 64 * Number(at)];
            const word = value.toString(16).padStart(64, "0");
            data = `${data.slice(0, start)}${word}${data.slice(end)}`;
          }
          return { ...fieldsOf(call), returnData: data };
        }),
      },
    ];
  });
}

/** Places of words in that answer. */
export const FACTS = {
  time: 1,
  senderBalance: 4,
  senderCode: 5,
  secondBalance: 6,
  secondCode: 7,
} as const;
