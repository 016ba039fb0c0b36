import type { VaultHost } from "../src/host.js";
import { findSender } from "../src/sending/signer.js";
import { describeTokens } from "../src/simulation/tokens.js";
import type { SimulatedFrom } from "../src/simulation/simulate.js";
import { simulateSettleAll } from "../src/simulation/simulate.js";
import type { SimulateSettleAllOptions } from "../src/simulation/options.js";
import { simulateTask } from "./definitions.js";
import { readAction } from "./open-vault.js";
import { title } from "./output/blocks.js";
import { withTokens, simulationBlocks } from "./output/simulation.js";
import type { ShownSimulation } from "./output/simulation.js";
import { selectedNetwork } from "./parse-options.js";
import { Time } from "./parsers.js";
import type { TaskReport } from "./run-task.js";

export default readAction(
  simulateTask,
  async (vault, args, { hre, terminal }) => {
    const { from, atTime, ids, tokens, block, hardfork, fork, timeout } = args;
    const { config } = selectedNetwork(hre);
    terminal.progress(`Simulating a settlement of ${vault.networkName}`);
    const options = {
      from,
      atTime: atTime instanceof Time ? atTime.text : atTime,
      orders: ids,
      tokens,
      blockNumber: block,
      hardfork,
      engine: fork ? "fork" : undefined,
      timeout,
    } as const;
    return await simulate(
      vault,
      options,
      async () => await findSender(vault.rpc, config),
    );
  },
);

export async function simulate(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findDefaultSender?: () => Promise<string>,
): Promise<TaskReport> {
  const shown = await simulateToShow(vault, options, findDefaultSender);
  const { simulation, chainId, block } = shown;
  const { status } = simulation;
  const envelope = { network: vault.networkName, chainId, block };
  const { timestamp: chainTime } = simulation.block ?? block;
  return {
    json: {
      ...envelope,
      simulation: withTokens(simulation, shown.tokens),
    },
    ok: status === "settled" || status === "nothing-to-do",
    blocks: [
      title("Simulated settlement", envelope),
      ...simulationBlocks(shown, vault.networkName, {
        ...vault.settings,
        chainTime,
        raw: false,
      }),
    ],
  };
}

/** Simulates, and reads symbol and decimals of the tokens that move. */
export async function simulateToShow(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findDefaultSender?: () => Promise<string>,
): Promise<ShownSimulation & SimulatedFrom> {
  const simulated = await simulateSettleAll(vault, options, findDefaultSender);
  const { simulation, pin } = simulated;
  const tokens = await describeTokens(
    vault,
    [...simulation.balances, ...(simulation.transfers ?? [])].map(
      ({ token }) => token,
    ),
    pin,
  );
  return { ...simulated, tokens };
}
