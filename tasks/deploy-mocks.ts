import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { invalidArgument } from "../src/errors.js";
import { requireScenario } from "../src/mocks/scenarios.js";
import type { ScenarioName } from "../src/mocks/scenarios.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import { withVault } from "./open-vault.js";
import { renderHeading } from "./output/heading.js";
import { createStyle } from "./output/style.js";
import { renderFacts, wrapText } from "./output/table.js";
import { runTask } from "./run-task.js";
import type { TaskArguments, TaskOutput, TaskReport } from "./run-task.js";

interface DeployMocksTaskArguments extends TaskArguments {
  readonly at: string | undefined;
  readonly scenario: string | undefined;
  readonly yes: boolean;
}

const action: NewTaskActionFunction<DeployMocksTaskArguments> = async (
  args,
  hre,
) =>
  await runTask(args, async () => {
    const { at, instance, scenario, yes } = args;
    if (at !== undefined) {
      throw invalidArgument(
        "--at",
        "mocks are deployed to new addresses, none can be given",
      );
    }
    const name = requireScenario(scenario ?? "open-round");
    return await withVault(
      hre,
      "write",
      { at, instance },
      async (vault, waiting) => await deployAndSave(vault, name, yes, waiting),
    );
  });

export default action;

/**
 * Deploys mocks and, where the network persists, remembers where they are.
 *
 * @param allowLiveNetwork The value of `--yes`.
 */
export async function deployAndSave(
  vault: HardhatVault,
  scenario: ScenarioName,
  allowLiveNetwork: boolean,
  { stderr }: Pick<TaskOutput, "stderr"> = process,
): Promise<TaskReport> {
  const { addresses } = await vault.deployMocks({ scenario, allowLiveNetwork });
  const [chainId, block] = await Promise.all([vault.chainId(), vault.block()]);
  const file = await vault.deployments?.save({
    version: 1,
    chainId,
    genesisHash: await vault.deployments.genesisHash(),
    block: block.number,
    scenario,
    contracts: addresses,
  });
  if (file === undefined) {
    stderr.write(
      `${wrapText("This network lives in this process: the mocks end with it. For mocks that stay, start `npx hardhat node` and pass --network.", createStyle(stderr))}\n`,
    );
  }
  const envelope = { network: vault.networkName, chainId, block };
  return {
    json: { ...envelope, contracts: addresses, scenario },
    text: (style) =>
      [
        renderHeading(`Mocks deployed (${scenario})`, envelope, style),
        renderFacts(
          contractRoleNames.map((role) => [
            contractRoles[role].label,
            addresses[role],
          ]),
          style,
        ),
        ...(file === undefined
          ? []
          : [
              wrapText(
                style.dim(
                  `Written to ${file}; tasks on this chain use them where the configuration names no address.`,
                ),
                style,
              ),
            ]),
      ].join("\n"),
  };
}
