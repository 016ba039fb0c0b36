import { ZeroAddress } from "ethers";

import { invalidArgument, vaultError } from "../src/errors.js";
import { deployGuard } from "../src/settlement/deploy-guard.js";
import type { GuardDeployment } from "../src/settlement/deploy-guard.js";
import { escapeUntrusted } from "../src/escape.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { readEnvelope, writeAction } from "./open-vault.js";
import { code, labelledValues, notes, title } from "./output/blocks.js";
import type { Block, Cell } from "./output/blocks.js";
import { say } from "./output/render-text.js";
import { nativeAmount } from "./output/format-value.js";
import type { TaskReport } from "./run-task.js";
import type { Terminal } from "./terminal.js";

export default writeAction(
  tasks["deploy-guard"],
  async (vault, args, { terminal }) => await deploy(vault, args, terminal),
);

export async function deploy(
  vault: HardhatVault,
  { from, settler, yes, instance }: TaskValues<"deploy-guard">,
  { ask, err }: Pick<Terminal, "ask" | "err">,
): Promise<TaskReport> {
  const network = escapeUntrusted(vault.networkName);
  const guard = await deployGuard(vault, {
    from,
    settler,
    isAsked: !yes,
    confirm: async (deployment) => {
      await say(err, ...deploymentBlocks(deployment, network));
      await say(err);
      if (!yes && ask === undefined) {
        throw invalidArgument(
          "--yes",
          "there is no terminal to ask for confirmation on",
          "Pass it to deploy without a question. Nothing was sent.",
        );
      }
      if (!yes && (await ask?.("Deploy this guard now?")) !== true) {
        throw vaultError("VAULT_NOT_CONFIRMED", {});
      }
    },
    onHash: (hash) => {
      void say(err, notes(`Transaction ${hash}`));
    },
  });
  const envelope = await readEnvelope(vault);
  const place = instance === undefined ? "" : `.instances.${instance}`;
  return {
    json: { ...envelope, guard },
    blocks: [
      title("Guard", envelope),
      labelledValues([
        ["Address", guard.address],
        ["Settler", describeSettler(guard.settler)],
        ["Transaction", guard.hash ?? "none: it is there already"],
      ]),
      notes(
        `Put this into networks.${network}.vault${escapeUntrusted(place)} of the configuration:`,
      ),
      code(`guard: "${guard.address}",`),
    ],
  };
}

function deploymentBlocks(
  { from, settler, address, chainId, cost, maxCost }: GuardDeployment,
  network: string,
): readonly Block[] {
  const unknown = {
    text: "not known yet",
    note: "this chain lacks the CREATE2 deployer",
  };
  return [
    title("About to deploy a guard"),
    labelledValues([
      ["Network", `${network} (chain id ${chainId})`],
      ["Deployed by", from],
      ["Settler", describeSettler(settler)],
      ["Address", address ?? unknown],
      ["Cost", nativeAmount(cost, maxCost)],
    ]),
    notes(
      settler === ZeroAddress &&
        "Anyone may settle through this guard: a vault's allow-list must not name it.",
    ),
  ];
}

function describeSettler(settler: string): Cell {
  return settler === ZeroAddress
    ? { text: "anyone", note: "the zero address" }
    : { text: settler, note: "no other account may settle through it" };
}
