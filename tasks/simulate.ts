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

export default readAction(
  simulateTask,
  async (vault, args, { hre, terminal }) => {
    const { from, atTime, ids, tokens, block, hardfork, fork, timeout } = args;
    const { networkName: network, settings } = vault;
    terminal.progress(`Simulating a settlement of ${network}`);
    const shown = await simulateToShow(
      vault,
      {
        from,
        atTime: atTime instanceof Time ? atTime.text : atTime,
        orders: ids,
        tokens,
        blockNumber: block,
        hardfork,
        engine: fork ? "fork" : undefined,
        timeout,
      },
      async () => await findSender(vault.rpc, selectedNetwork(hre).config),
    );
    const { simulation, chainId, block: start } = shown;
    const envelope = { network, chainId, block: start };
    const { timestamp: chainTime } = simulation.block ?? start;
    const context = { ...settings, chainTime, raw: false };
    return {
      json: {
        ...envelope,
        simulation: withTokens(simulation, shown.tokens),
      },
      ok: ["settled", "nothing-to-do"].includes(simulation.status),
      blocks: [
        title("Simulated settlement", envelope),
        ...simulationBlocks(shown, network, context),
      ],
    };
  },
);

/** Simulates, and reads symbol and decimals of the tokens that move. */
export async function simulateToShow(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findDefaultSender?: () => Promise<string>,
): Promise<ShownSimulation & SimulatedFrom> {
  const simulated = await simulateSettleAll(vault, options, findDefaultSender);
  const { simulation, pin } = simulated;
  const moved = [...simulation.balances, ...(simulation.transfers ?? [])];
  const addresses = moved.map(({ token }) => token);
  const tokens = await describeTokens(vault, addresses, pin);
  return { ...simulated, tokens };
}
