import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { invalidArgument } from "../src/errors.js";
import { requireScenario } from "../src/mocks/scenarios.js";
import type { ScenarioName } from "../src/mocks/scenarios.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import type { ArgumentsOf } from "./arguments.js";
import { readEnvelope, withVault } from "./open-vault.js";
import { labelledValues, notes, title } from "./output/blocks.js";
import type { OutputStream } from "./output/destination.js";
import { wrapText } from "./output/render-text.js";
import { createStyle } from "./output/style.js";
import { taskAction } from "./run-task.js";
import type { TaskReport } from "./run-task.js";

export default taskAction(async (args: ArgumentsOf<"deploy-mocks">, hre) => {
  if (args.at !== undefined) {
    throw invalidArgument(
      "--at",
      "mocks are deployed to new addresses, none can be given",
    );
  }
  const scenario = requireScenario(args.scenario ?? "open-round");
  return await withVault(
    hre,
    "write",
    args,
    async (vault, { stderr }) =>
      await deployAndSave(vault, scenario, args.yes, stderr),
  );
});

/**
 * Deploys mocks and, where the network persists, remembers where they are.
 *
 * @param allowLiveNetwork The value of `--yes`.
 */
async function deployAndSave(
  vault: HardhatVault,
  scenario: ScenarioName,
  allowLiveNetwork: boolean,
  stderr: OutputStream,
): Promise<TaskReport> {
  const { addresses } = await vault.deployMocks({ scenario, allowLiveNetwork });
  const envelope = await readEnvelope(vault);
  const deployments = await vault.deployments?.();
  const file = await deployments?.save({
    block: envelope.block.number,
    scenario,
    contracts: addresses,
  });
  if (file === undefined) {
    stderr.write(
      `${wrapText("This network lives in this process: the mocks end with it. For mocks that stay, start `npx hardhat node` and pass --network.", createStyle(stderr))}\n`,
    );
  }
  return {
    json: { ...envelope, contracts: addresses, scenario },
    blocks: [
      title(`Mocks deployed (${scenario})`, envelope),
      labelledValues(
        contractRoleNames.map((role) => [
          contractRoles[role].label,
          addresses[role],
        ]),
      ),
      ...(file === undefined
        ? []
        : [
            notes(
              `Written to ${file}; tasks on this chain use them if the configuration names no address.`,
            ),
          ]),
    ],
  };
}
