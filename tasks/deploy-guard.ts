import { ZeroAddress } from "ethers";

import { vaultError } from "../src/errors.js";
import { escapeUntrusted } from "../src/foreign-text.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { formatNative } from "../src/protocol/round.js";
import { deployGuard } from "../src/settlement/deploy-guard.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { readEnvelope, writeAction } from "./open-vault.js";
import { code, labelledValues, notes, say, title } from "./output/screen.js";
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
      if (yes) {
        return;
      }
      if (ask === undefined) {
        throw vaultError("VAULT_NO_TERMINAL", {});
      }
      const { from: account, chainId, maxCost } = deployment;
      const question = `Deploy to ${network} (chain ${chainId}) with ${account} a guard through which ${describeSettler(deployment.settler)} may settle, for at most ${formatNative(maxCost)} native currency?`;
      if (!(await ask(question))) {
        throw vaultError("VAULT_NOT_CONFIRMED", {});
      }
    },
    onHash: (hash) => void say(err, notes(`Transaction ${hash}`)),
  });
  const envelope = await readEnvelope(vault);
  const place = instance === undefined ? "" : `.instances.${instance}`;
  return {
    json: { ...envelope, guard },
    screen: [
      title("Guard", envelope),
      labelledValues([
        ["Address", guard.address],
        ["Settler", describeSettler(guard.settler)],
        ["Transaction", guard.hash ?? "none: it is there already"],
      ]),
      notes(
        guard.settler === ZeroAddress &&
          "Anyone may settle through this guard: a vault's allow-list must not name it.",
        `Put this into networks.${network}.vault${escapeUntrusted(place)} of the configuration:`,
      ),
      code(`guard: "${guard.address}",`),
    ],
  };
}

function describeSettler(settler: string): string {
  return settler === ZeroAddress ? "anyone" : `only ${settler}`;
}
