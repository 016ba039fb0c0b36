import type { PastRound } from "../src/client/index.js";
import { invalidArgument } from "../src/errors.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted, toSafeJson } from "../src/untrusted-text.js";
import { taskArguments } from "./arguments.js";
import type { ArgumentsOf } from "./arguments.js";
import { toDocument } from "./error-texts.js";
import { notes, title } from "./output/blocks.js";
import { describeCount } from "./output/format-value.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import { renderText } from "./output/render-text.js";
import { notesOnRounds, roundBlocks, toCsv } from "./output/rounds.js";
import { createStyle } from "./output/style.js";
import { readAction, readEnvelope } from "./open-vault.js";
import type { StreamedReport, TaskSurroundings } from "./run-task.js";

export default readAction(
  taskArguments.rounds,
  listRounds,
  ({ block, toBlock, ...args }) => {
    if (block !== undefined && toBlock !== undefined) {
      throw invalidArgument(
        "--block",
        "it says the same as --to-block; leave one of the two out",
      );
    }
    parseListingForm(args);
  },
);

/** Finds the rounds of a range of blocks, and lists them. */
async function listRounds(
  vault: HardhatVault,
  args: ArgumentsOf<"rounds">,
  { terminal }: TaskSurroundings,
): Promise<StreamedReport> {
  const { fromBlock, block, toBlock = block, from, out, raw } = args;
  const form = parseListingForm(args);
  const envelope = await readEnvelope(vault, toBlock);
  const { number, timestamp: chainTime } = envelope.block;
  const format = (found: readonly PastRound[]): string => {
    switch (form) {
      case "csv":
        return toCsv(found);
      case "ndjson":
        return found
          .map((round) => `${toSafeJson(toDocument(round))}\n`)
          .join("");
      case "json":
        return `${toSafeJson(toDocument({ ...envelope, rounds: found, notes: notesOnRounds(found) }))}\n`;
      case "table":
        return `${renderText(
          [
            title("Rounds", envelope),
            ...roundBlocks(found, number, {
              ...vault.settings,
              chainTime,
              raw,
            }),
          ],
          out === undefined ? terminal.out.style : createStyle({}),
        )}\n`;
    }
  };
  let rounds: readonly PastRound[] = [];
  const pieces = async function* (): AsyncGenerator<string, void, undefined> {
    rounds = await Array.fromAsync(
      vault.rounds({
        fromBlock,
        toBlock: envelope.block.number,
        from,
        onProgress: (far) => {
          terminal.progress("Reading blocks", far);
        },
      }),
    );
    yield format(rounds);
  };
  const isRead = await writeListing(pieces(), out, terminal);
  if (isRead) {
    const said = [
      ...(out === undefined
        ? []
        : [
            `${describeCount(rounds.length, "round")} written to ${escapeUntrusted(out)}.`,
          ]),
      // The other two forms hold them.
      ...(form === "csv" || form === "ndjson" ? notesOnRounds(rounds) : []),
    ];
    if (said.length > 0) {
      const { err } = terminal;
      await err.write(`${renderText([notes(...said)], err.style)}\n`);
    }
  }
  return { streamed: true, ok: true };
}
