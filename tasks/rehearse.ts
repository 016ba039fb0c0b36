import {
  describeInput,
  givenInput,
  parseAddress,
} from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { rehearsePast } from "../src/rehearsal/rehearse-past.js";
import type { ArgumentsOf } from "./arguments.js";
import { readAction, readEnvelope, selectedNetwork } from "./open-vault.js";
import type { StartProgress } from "./output/progress.js";
import { renderRehearsals } from "./output/rehearsals.js";
import { parseInteger, parsePastBlock, parseTimeout } from "./parse-options.js";
import type { TaskReport } from "./run-task.js";

/** Most blocks that one run looks at. */
const MAX_BLOCKS = 1_000;

export default readAction(
  (args: ArgumentsOf<"rehearse">, hre) => {
    const request = parseRehearseArguments(args);
    const { name, config } = selectedNetwork(hre);
    if (config.type !== "http") {
      throw invalidArgument(
        "--network",
        `${name} runs in process: the past is rehearsed on a node, over HTTP`,
      );
    }
    return request;
  },
  async (vault, request, { args, startProgress, findSender }) =>
    await rehearse(
      vault,
      request,
      request.as ?? (await findSender()),
      args.raw,
      startProgress,
    ),
);

/** The blocks, or how to choose them. */
export interface RehearseRequest {
  readonly blocks:
    | readonly number[]
    | {
        readonly samples: number;
        readonly fromBlock: BlockTag;
        readonly toBlock: BlockTag;
      };
  readonly as: string | undefined;
  /** Milliseconds. */
  readonly timeout: number | undefined;
}

/**
 * Reads the options, before any request.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_BLOCK,
 * VAULT_INVALID_INTEGER, VAULT_INVALID_ADDRESS
 */
export function parseRehearseArguments(
  args: ArgumentsOf<"rehearse">,
): RehearseRequest {
  return {
    blocks: parseBlocks(args),
    as: args.as === undefined ? undefined : parseAddress(args.as, "--as"),
    timeout: parseTimeout(args.timeout),
  };
}

function parseBlocks({
  blocks,
  samples,
  fromBlock,
  toBlock,
}: ArgumentsOf<"rehearse">): RehearseRequest["blocks"] {
  if ((blocks === undefined) === (samples === undefined)) {
    throw invalidArgument(
      "--blocks",
      "either --blocks, as in 100,200,300, or --samples, as in 20, is needed",
    );
  }
  if (blocks !== undefined) {
    if (fromBlock !== undefined || toBlock !== undefined) {
      throw invalidArgument(
        "--blocks",
        "--from-block and --to-block go with --samples alone",
      );
    }
    const numbers = new Set(
      blocks.split(",").map((text) => parseNumber(text.trim())),
    );
    if (numbers.size > MAX_BLOCKS) {
      throw invalidArgument(
        "--blocks",
        `at most ${MAX_BLOCKS} blocks can be named`,
      );
    }
    return [...numbers].sort((one, other) => one - other);
  }
  const count = Number(parseInteger(samples ?? "", "--samples"));
  if (count < 1 || count > MAX_BLOCKS) {
    throw invalidArgument(
      "--samples",
      `1 to ${MAX_BLOCKS} are needed, got ${describeInput(samples)}`,
    );
  }
  return {
    samples: count,
    fromBlock: parsePastBlock(fromBlock ?? "0", "--from-block"),
    toBlock: parsePastBlock(toBlock, "--to-block"),
  };
}

/** What a number of JavaScript cannot hold is refused, not rounded. */
function parseNumber(text: string): number {
  const number = Number(parseInteger(text, "--blocks"));
  if (!Number.isSafeInteger(number)) {
    throw vaultError("VAULT_INVALID_BLOCK", {
      where: "--blocks",
      value: givenInput(text),
    });
  }
  return number;
}

/** Rehearses at each block, and reports. */
export async function rehearse(
  vault: HardhatVault,
  { blocks }: Pick<RehearseRequest, "blocks">,
  sender: string,
  raw: boolean,
  startProgress: StartProgress,
): Promise<TaskReport> {
  const envelope = await readEnvelope(
    vault,
    "toBlock" in blocks ? blocks.toBlock : "latest",
  );
  const { number: last, timestamp: chainTime } = envelope.block;
  const numbers =
    "samples" in blocks
      ? spread(
          (await vault.block(blocks.fromBlock)).number,
          last,
          blocks.samples,
        )
      : blocks;
  const progress = startProgress({ total: numbers.length, unit: "blocks" });
  const rehearsals = await rehearsePast(vault, numbers, sender, (done) => {
    progress.update({ done });
  }).finally(progress.hide);
  return {
    json: { ...envelope, rehearsals },
    ok: rehearsals.every((rehearsal) => !("error" in rehearsal)),
    text: (style) =>
      renderRehearsals(rehearsals, sender, envelope, {
        ...vault.settings,
        chainTime,
        raw,
        ...style,
      }),
  };
}

/** So many blocks at equal distances, both ends among them. */
function spread(first: number, last: number, count: number): readonly number[] {
  if (first > last) {
    throw invalidArgument(
      "--from-block",
      `${first} is above --to-block, which is ${last}`,
    );
  }
  const steps = Math.max(1, count - 1);
  return [
    ...new Set(
      Array.from(
        { length: count },
        (_, index) => last - Math.floor(((last - first) * index) / steps),
      ),
    ),
  ].toReversed();
}
