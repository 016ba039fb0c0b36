import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import { mockScales } from "../src/mocks/scenarios.js";
import { deployMocksTask } from "./definitions.js";
import { readEnvelope, writeAction } from "./open-vault.js";
import { labelledValues, notes, title } from "./output/blocks.js";
import { say } from "./output/render-text.js";

export default writeAction(
  deployMocksTask,
  async (vault, args, { terminal: { err } }) => {
    const { scenario = "open-round" } = args;
    const { addresses } = await vault.deployMocks({
      scenario,
      allowLiveNetwork: args.yes,
    });
    const envelope = await readEnvelope(vault);
    const file = await vault.deployments?.save({
      block: envelope.block.number,
      scenario,
      contracts: addresses,
      scales: mockScales,
    });
    if (file === undefined) {
      await say(
        err,
        notes(
          "This network lives in this process: the mocks end with it. For mocks that stay, start `npx hardhat node` and pass --network.",
        ),
      );
    }
    const written = `Written to ${file ?? ""}; tasks on this chain${args.instance === undefined ? "" : ` with --instance ${args.instance}`} use them if the configuration names no address.`;
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
        notes(file !== undefined && written),
      ],
    };
  },
);
