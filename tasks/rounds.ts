import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { excludeEachOther } from "./parse-options.js";
import { roundsTask } from "./definitions/rounds.js";
import type { TaskValues } from "./definitions/shared.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import { roundListing } from "./output/rounds.js";
import { readAction, readEnvelope } from "./open-vault.js";
import type { StreamedReport, TaskSurroundings } from "./run-task.js";

export default readAction(
  roundsTask,
  listRounds,
  ({ block, toBlock, ...args }) => {
    if (block !== undefined && toBlock !== undefined) {
      throw excludeEachOther("--block", "--to-block");
    }
    parseListingForm(args);
  },
);

async function listRounds(
  vault: HardhatVault,
  args: TaskValues<typeof roundsTask>,
  { terminal }: TaskSurroundings,
): Promise<StreamedReport> {
  const { fromBlock, block, toBlock = block, from, raw } = args;
  const envelope = await readEnvelope(vault, toBlock);
  const rounds = vault.rounds({
    fromBlock,
    toBlock: envelope.block.number,
    from,
    onProgress: (far) => {
      terminal.progress("Reading blocks", far);
    },
  });
  const { timestamp: chainTime } = envelope.block;
  const context = { ...vault.settings, chainTime, raw };
  await writeListing(roundListing(envelope, rounds, context), args, terminal);
  return { streamed: true, ok: true };
}
