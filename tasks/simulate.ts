import { fallbackTo } from "../src/errors.js";
import { escapeUntrusted } from "../src/foreign-text.js";
import type { VaultHost } from "../src/host.js";
import { findSender } from "../src/sending/signer.js";
import { simulateSettleAll } from "../src/simulation/simulate.js";
import type {
  SimulateSettleAllOptions,
  Simulated,
} from "../src/simulation/simulate.js";
import { describeTokens } from "../src/simulation/tokens.js";
import { tasks } from "./definitions.js";
import { readAction, selectedNetwork } from "./open-vault.js";
import { notes, title, toned } from "./output/screen.js";
import { simulationParts, withTokens } from "./output/settlement.js";
import type { Effect } from "./output/settlement.js";

export default readAction(
  tasks.simulate,
  async (vault, args, { hre, terminal }) => {
    const { from, atTime, ids, tokens, block, hardfork, fork } = args;
    const { networkName: network, display } = vault;
    terminal.progress(`Simulating a settlement of ${network}`);
    const shown = await simulateToShow(
      vault,
      {
        from,
        atTime,
        orders: ids,
        tokens,
        blockNumber: block,
        hardfork,
        engine: fork ? "fork" : undefined,
      },
      async () => await findSender(vault.rpc, selectedNetwork(hre).config),
    );
    const { simulation, chainId, base } = shown;
    const { number, timestamp } = base;
    const envelope = { network, chainId, block: { number, timestamp } };
    const { timestamp: chainTime } = simulation.block ?? base;
    const context = { ...display, chainTime, raw: false };
    return {
      json: { ...envelope, simulation: withTokens(simulation, shown.tokens) },
      ok: ["settled", "nothing-to-do"].includes(simulation.status),
      screen: [
        title("Simulated settlement", envelope),
        ...simulationParts(shown, context),
        notes(toned("dim", `Nothing was sent to ${escapeUntrusted(network)}.`)),
      ],
    };
  },
);

/** Simulates, and reads symbol and decimals of the tokens that move. */
export async function simulateToShow(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findDefaultSender?: () => Promise<string>,
): Promise<Simulated & Effect> {
  const simulated = await simulateSettleAll(vault, options, findDefaultSender);
  const { balances, transfers } = simulated.simulation;
  const moved = [...balances, ...(transfers ?? [])].map(({ token }) => token);
  // Without a symbol, the address shows the token.
  const tokens = await describeTokens(vault, moved, simulated.base).catch(
    fallbackTo<Effect["tokens"]>(new Map()),
  );
  return { ...simulated, tokens };
}
