import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { PastRound } from "../src/client/index.js";
import type { BlockTag } from "../src/client/inputs.js";
import { vaultError } from "../src/errors.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { escapeUntrusted } from "../src/untrusted-text.js";
import { withVault } from "./open-vault.js";
import type { WriteText } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import type { ListingForm } from "./output/listing.js";
import { startProgress } from "./output/progress.js";
import type { ProgressStream } from "./output/progress.js";
import {
  notesOnRounds,
  toRoundsCsv,
  toRoundsDocument,
  toRoundsNdjson,
  toRoundsText,
} from "./output/rounds.js";
import { createStyle } from "./output/style.js";
import type { StyledStream } from "./output/style.js";
import { wrapText } from "./output/table.js";
import { parseBlock, parseReadTarget } from "./parse-options.js";
import { pinBlock } from "./read.js";
import type { ReadTaskArguments } from "./read.js";
import { runTask, withStdoutOnStderr } from "./run-task.js";
import type { StreamedReport } from "./run-task.js";

export interface RoundsTaskArguments extends ReadTaskArguments {
  readonly fromBlock: string | undefined;
  readonly toBlock: string | undefined;
  readonly format: string | undefined;
  readonly out: string | undefined;
}

interface RoundsRequest {
  readonly fromBlock: BlockTag;
  readonly toBlock: BlockTag;
  readonly from: string | undefined;
  readonly timeout: number | undefined;
  readonly form: ListingForm;
}

const action: NewTaskActionFunction<RoundsTaskArguments> = async (args, hre) =>
  await runTask(args, async (writeStdout) => {
    const request = parseRoundsArguments(args);
    const { stdout } = process;
    const list = async (write: WriteText): Promise<StreamedReport> =>
      await withVault(
        hre,
        "read",
        args,
        async (vault, { inPlace, stderr }) =>
          await listRounds(vault, args, request, {
            write: inPlace(write),
            stdout,
            stderr,
          }),
        request.timeout,
      );
    return args.format === undefined
      ? await list(writeStdout)
      : await withStdoutOnStderr(list);
  });

export default action;

/**
 * Checks what can be checked without a network.
 *
 * @throws VaultError of the argument that is wrong
 */
export function parseRoundsArguments(args: RoundsTaskArguments): RoundsRequest {
  const { blockTag, from, timeout } = parseReadTarget(args);
  if (args.block !== undefined && args.toBlock !== undefined) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "--block",
      problem: "it says the same as --to-block; leave one of the two out",
    });
  }
  const range = {
    fromBlock: parseBlock(args.fromBlock ?? "0", "--from-block"),
    toBlock:
      args.toBlock === undefined
        ? blockTag
        : parseBlock(args.toBlock, "--to-block"),
  };
  for (const [name, tag] of Object.entries(range)) {
    if (tag === "pending") {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: name === "fromBlock" ? "--from-block" : "--to-block",
        problem: "a pending block is no part of the history",
      });
    }
  }
  return { ...range, from, timeout, form: parseListingForm(args) };
}

/** Where a listing is written, and where its progress is shown. */
export interface RoundsOutput {
  /** Writes to the true stdout. */
  readonly write: WriteText;
  readonly stdout: StyledStream;
  readonly stderr: ProgressStream;
}

/** Finds the rounds of a range of blocks, and lists them. */
export async function listRounds(
  vault: HardhatVault,
  args: Pick<RoundsTaskArguments, "out" | "raw" | "wide">,
  { fromBlock, toBlock, from, timeout, form }: RoundsRequest,
  { write, stdout, stderr }: RoundsOutput,
): Promise<StreamedReport> {
  const { out, raw, wide } = args;
  const { envelope } = await pinBlock(vault, {
    blockTag: toBlock,
    from,
    timeout,
  });
  const progress = startProgress(stderr, {
    total: 1,
    unit: "blocks looked at",
  });
  const rounds: PastRound[] = [];
  const pieces = async function* (): AsyncGenerator<string, void, undefined> {
    const search = vault.rounds({
      fromBlock,
      toBlock: envelope.block.number,
      from,
      timeout,
      onProgress: ({ done, total }) => {
        progress.update(done, total);
      },
    });
    for await (const round of search) {
      rounds.push(round);
    }
    switch (form) {
      case "csv":
        yield toRoundsCsv(rounds);
        break;
      case "ndjson":
        yield toRoundsNdjson(rounds);
        break;
      case "json":
        yield toRoundsDocument(envelope, rounds);
        break;
      case "table":
        yield toRoundsText(
          envelope,
          rounds,
          {
            ...vault.settings,
            chainTime: envelope.block.timestamp,
            raw,
          },
          createStyle(out === undefined ? stdout : {}, wide),
        );
    }
  };
  const isRead = await writeListing(pieces(), { out, write, stderr, progress });
  if (isRead) {
    const style = createStyle(stderr, wide);
    const said = [
      ...(out === undefined
        ? []
        : [
            `${describeCount(rounds.length, "round")} written to ${escapeUntrusted(out)}.`,
          ]),
      // The other two forms hold them.
      ...(form === "csv" || form === "ndjson" ? notesOnRounds(rounds) : []),
    ];
    for (const line of said) {
      stderr.write(`${wrapText(line, style)}\n`);
    }
  }
  return { streamed: true, ok: true };
}
