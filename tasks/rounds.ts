import type { PastRound } from "../src/client/index.js";
import type { BlockTag } from "../src/client/inputs.js";
import { invalidArgument } from "../src/errors.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted, toSafeJson } from "../src/untrusted-text.js";
import type { ArgumentsOf } from "./arguments.js";
import { notes, title } from "./output/blocks.js";
import { describeCount } from "./output/format-value.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import type { ListingForm } from "./output/listing.js";
import { renderText } from "./output/render-text.js";
import { notesOnRounds, roundBlocks, toCsv } from "./output/rounds.js";
import { createStyle } from "./output/style.js";
import { describeProgress } from "./output/waiting.js";
import {
  parsePastBlock,
  parseReadTarget,
  toDocument,
} from "./parse-options.js";
import type { ReadTarget } from "./parse-options.js";
import { readAction, readEnvelope } from "./open-vault.js";
import type { ReadSurroundings } from "./open-vault.js";
import type { StreamedReport } from "./run-task.js";

interface RoundsRequest extends Omit<ReadTarget, "blockTag"> {
  readonly fromBlock: BlockTag;
  readonly toBlock: BlockTag;
  readonly form: ListingForm;
}

export default readAction(parseRoundsArguments, listRounds);

/** Checks what can be checked without a network. */
export function parseRoundsArguments(
  args: ArgumentsOf<"rounds">,
): RoundsRequest {
  const { from, timeout } = parseReadTarget(args);
  if (args.block !== undefined && args.toBlock !== undefined) {
    throw invalidArgument(
      "--block",
      "it says the same as --to-block; leave one of the two out",
    );
  }
  const range = {
    fromBlock: parsePastBlock(args.fromBlock ?? "0", "--from-block"),
    toBlock: parsePastBlock(
      args.toBlock ?? args.block,
      args.toBlock === undefined ? "--block" : "--to-block",
    ),
  };
  return { ...range, from, timeout, form: parseListingForm(args) };
}

/** Finds the rounds of a range of blocks, and lists them. */
async function listRounds(
  vault: HardhatVault,
  { fromBlock, toBlock, from, form }: RoundsRequest,
  {
    args: { out, raw },
    write,
    stdout,
    stderr,
    say,
  }: ReadSurroundings<ArgumentsOf<"rounds">>,
): Promise<StreamedReport> {
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
          createStyle(out === undefined ? stdout : {}),
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
          say(describeProgress("Reading blocks", far));
        },
      }),
    );
    yield format(rounds);
  };
  const isRead = await writeListing(pieces(), out, write);
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
      stderr.write(`${renderText([notes(...said)], createStyle(stderr))}\n`);
    }
  }
  return { streamed: true, ok: true };
}
