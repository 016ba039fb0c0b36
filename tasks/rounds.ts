import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { roundsTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import { roundListing } from "./output/rounds.js";
import { readAction, pinVault } from "./open-vault.js";
import type { StreamedReport, TaskSurroundings } from "./run-task.js";

export default readAction(roundsTask, listRounds);

async function listRounds(
  vault: HardhatVault,
  args: TaskValues<typeof roundsTask>,
  { terminal }: TaskSurroundings,
): Promise<StreamedReport> {
  const form = parseListingForm(args);
  const { fromBlock, block, toBlock = block, from, raw, scaled } = args;
  const { envelope, pinned } = await pinVault(vault, toBlock);
  const rounds = pinned.rounds({
    fromBlock,
    toBlock: envelope.block.number,
    from,
    onProgress: (far) => {
      terminal.progress("Reading blocks", far);
    },
  });
  const { timestamp: chainTime } = envelope.block;
  const context = { ...vault.settings, chainTime, raw, scaled };
  const listing = roundListing(envelope, rounds, context);
  await writeListing(listing, form, args.out, terminal);
  return { streamed: true, ok: true };
}
