import type { NewTaskActionFunction } from "hardhat/types/tasks";

import {
  describeInput,
  givenInput,
  parseAddress,
} from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import { vaultError } from "../src/errors.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { findSender } from "../src/plugin/sender.js";
import {
  isFailedRehearsal,
  rehearsePast,
} from "../src/rehearsal/rehearse-past.js";
import { selectedNetwork, withVault } from "./open-vault.js";
import { startProgress } from "./output/progress.js";
import type { ProgressStream } from "./output/progress.js";
import { renderRehearsals } from "./output/rehearsals.js";
import { parseBlock, parseInteger, parseTimeout } from "./parse-options.js";
import { runTask } from "./run-task.js";
import type { TaskArguments, TaskReport } from "./run-task.js";

export interface RehearseTaskArguments extends TaskArguments {
  readonly at: string | undefined;
  readonly raw: boolean;
  readonly blocks: string | undefined;
  readonly samples: string | undefined;
  readonly fromBlock: string | undefined;
  readonly toBlock: string | undefined;
  readonly as: string | undefined;
  readonly timeout: string | undefined;
}

/** Most blocks that one run looks at. */
const MAX_BLOCKS = 1_000;

const action: NewTaskActionFunction<RehearseTaskArguments> = async (
  args,
  hre,
) =>
  await runTask(args, async () => {
    const request = parseRehearseArguments(args);
    const { name, config } = selectedNetwork(hre);
    if (config.type !== "http") {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: "--network",
        problem: `${name} runs in process: the past is rehearsed on a node, over HTTP`,
      });
    }
    return await withVault(
      hre,
      "read",
      args,
      async (opened, { stderr }) => {
        const vault = opened.during({ timeout: request.timeout });
        return await rehearse(
          vault,
          request,
          // The connection was opened without accounts, as for a simulation.
          request.as ?? (await findSender(vault.provider, name, config)),
          args.raw,
          stderr,
        );
      },
      request.timeout,
    );
  });

export default action;

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
export function parseRehearseArguments({
  blocks,
  samples,
  fromBlock,
  toBlock,
  as,
  timeout,
}: Omit<RehearseTaskArguments, "json" | "at" | "raw">): RehearseRequest {
  return {
    blocks: parseBlocks({ blocks, samples, fromBlock, toBlock }),
    as: as === undefined ? undefined : parseAddress(as, "--as"),
    timeout: parseTimeout(timeout),
  };
}

function parseBlocks({
  blocks,
  samples,
  fromBlock,
  toBlock,
}: Pick<
  RehearseTaskArguments,
  "blocks" | "samples" | "fromBlock" | "toBlock"
>): RehearseRequest["blocks"] {
  if ((blocks === undefined) === (samples === undefined)) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "--blocks",
      problem:
        "either --blocks, as in 100,200,300, or --samples, as in 20, is needed",
    });
  }
  if (blocks !== undefined) {
    if (fromBlock !== undefined || toBlock !== undefined) {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: "--blocks",
        problem: "--from-block and --to-block go with --samples alone",
      });
    }
    const numbers = blocks.split(",").map((text) => parseNumber(text.trim()));
    return atMost([...new Set(numbers)].toSorted((one, other) => one - other));
  }
  const count = Number(parseInteger(samples ?? "", "--samples"));
  if (count < 1 || count > MAX_BLOCKS) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "--samples",
      problem: `1 to ${MAX_BLOCKS} are needed, got ${describeInput(samples)}`,
    });
  }
  return {
    samples: count,
    fromBlock: parseFixed(fromBlock ?? "0", "--from-block"),
    toBlock: parseFixed(toBlock, "--to-block"),
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

function parseFixed(text: string | undefined, where: string): BlockTag {
  const tag = parseBlock(text, where);
  if (tag === "pending") {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where,
      problem: "a pending block is no part of the past",
    });
  }
  return tag;
}

function atMost(blocks: readonly number[]): readonly number[] {
  if (blocks.length > MAX_BLOCKS) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "--blocks",
      problem: `at most ${MAX_BLOCKS} blocks can be named`,
    });
  }
  return blocks;
}

/** Rehearses at each block, and reports. */
export async function rehearse(
  vault: HardhatVault,
  { blocks }: RehearseRequest,
  sender: string,
  raw: boolean,
  stderr: ProgressStream,
): Promise<TaskReport> {
  const [chainId, block] = await Promise.all([
    vault.chainId(),
    vault.block("toBlock" in blocks ? blocks.toBlock : "latest"),
  ]);
  const numbers =
    "samples" in blocks
      ? spread(
          (await vault.block(blocks.fromBlock)).number,
          block.number,
          blocks.samples,
        )
      : blocks;
  const progress = startProgress(stderr, {
    total: numbers.length,
    unit: "blocks",
  });
  const rehearsals = await rehearsePast(vault, numbers, sender, (done) => {
    progress.update(done);
  }).finally(() => {
    progress.hide();
  });
  const envelope = { network: vault.networkName, chainId, block };
  return {
    json: { ...envelope, rehearsals },
    ok: !rehearsals.some(isFailedRehearsal),
    text: (style) =>
      renderRehearsals(
        rehearsals,
        sender,
        envelope,
        {
          ...vault.settings,
          chainTime: block.timestamp,
          raw,
        },
        style,
      ),
  };
}

/** So many blocks at equal distances, both ends among them. */
function spread(first: number, last: number, count: number): readonly number[] {
  if (first > last) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "--from-block",
      problem: `${first} is above --to-block, which is ${last}`,
    });
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
