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

/** Changes what a node's `eth_simulateV1` returns of the settlement. */
export function changeSettlement(node: ScriptedNode, change: Answer): void {
  changeSimulated(node, (block, calls) => {
    const settlement = (calls.length - 1) / 2;
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
