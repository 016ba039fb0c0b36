import { parseAddress } from "../src/client/inputs.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { describeTokens } from "../src/simulation/describe-tokens.js";
import { checkOrderCount } from "../src/simulation/options.js";
import { simulateSettleAll } from "../src/simulation/simulate-settle-all.js";
import type { SimulateSettleAllOptions } from "../src/simulation/options.js";
import { checkTime } from "../src/simulation/next-block.js";
import type { ArgumentsOf } from "./arguments.js";
import { readAction } from "./open-vault.js";
import { title } from "./output/blocks.js";
import { describeTransfers, simulationBlocks } from "./output/simulation.js";
import type { ShownSimulation } from "./output/simulation.js";
import { parseBlock, parseOrderIds, parseTimeout } from "./parse-options.js";
import type { Waiting } from "./output/waiting.js";
import type { TaskReport } from "./run-task.js";

export default readAction(
  parseSimulateArguments,
  async (vault, options, { say, findSender }) => {
    const as = options.as ?? (await findSender("as"));
    return await simulate(vault, { ...options, as }, say);
  },
);

/** Simulates and reports. */
export async function simulate(
  vault: HardhatVault,
  options: SimulateSettleAllOptions,
  say: Waiting["say"],
): Promise<TaskReport> {
  say(`Simulating a settlement of ${vault.networkName}…`);
  const shown = await simulateToShow(vault, options);
  const { simulation, chainId, base } = shown;
  const { status } = simulation;
  const block = await vault.block(base);
  const envelope = { network: vault.networkName, chainId, block };
  const { timestamp: chainTime } = simulation.block ?? block;
  return {
    json: {
      ...envelope,
      simulation: describeTransfers(simulation, shown.tokens),
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

/** Simulates, and asks the tokens that move what they say of themselves. */
export async function simulateToShow(
  vault: HardhatVault,
  options: SimulateSettleAllOptions,
): Promise<ShownSimulation> {
  const simulated = await simulateSettleAll(vault, options);
  const { balances, transfers } = simulated.simulation;
  const moved = [...balances, ...(transfers ?? [])].map(({ token }) => token);
  const tokens = await describeTokens(vault, moved);
  return { ...simulated, tokens };
}

/**
 * Reads the options of `vault simulate`, before any request.
 *
 * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT,
 * VAULT_INVALID_BLOCK, VAULT_INVALID_INTEGER, VAULT_INVALID_TIME
 */
export function parseSimulateArguments(
  args: ArgumentsOf<"simulate">,
): SimulateSettleAllOptions {
  checkTime(args.atTime);
  const orders = args.orders === undefined ? [] : parseOrderIds(args.orders);
  checkOrderCount(orders, "--orders");
  return {
    as: args.as === undefined ? undefined : parseAddress(args.as, "--as"),
    atTime: args.atTime,
    orders,
    tokens: (args.tokens?.split(",") ?? []).map((token) =>
      parseAddress(token.trim(), "--tokens"),
    ),
    blockNumber: args.block === undefined ? undefined : parseBlock(args.block),
    hardfork: args.hardfork,
    engine: args.fork ? "fork" : undefined,
    timeout: parseTimeout(args.timeout),
  };
}
