import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { BlockTag } from "../src/client/inputs.js";
import { readChainAndBlock } from "../src/client/lens/lens.js";
import type { VaultReader } from "../src/client/reader.js";
import { lessPatient } from "../src/rpc/patient.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { withVault } from "./open-vault.js";
import type { ChosenContracts } from "./open-vault.js";
import type { OutputStream, WriteText } from "./output/destination.js";
import type { Envelope } from "./output/heading.js";
import type { StartProgress } from "./output/progress.js";
import type { StyledStream } from "./output/style.js";
import { taskAction } from "./run-task.js";
import type { StreamedReport, TaskArguments, TaskReport } from "./run-task.js";

/** What a task that reads has beside the vault and its request. */
export interface ReadSurroundings<Args> {
  readonly args: Args;
  readonly hre: HardhatRuntimeEnvironment;
  /** Writes to the true stdout. */
  readonly write: WriteText;
  readonly stdout: StyledStream;
  readonly stderr: OutputStream;
  readonly startProgress: StartProgress;
}

/**
 * The action of a task that reads what the selected network has.
 *
 * @param parse Reads what was typed, before anything is asked of the network.
 * @param work Is given a vault with one deadline for all that it asks.
 */
export function readAction<
  Args extends ChosenContracts & TaskArguments,
  Request extends {
    /** Milliseconds. */
    readonly timeout?: number | undefined;
  },
>(
  parse: (args: Args, hre: HardhatRuntimeEnvironment) => Request,
  work: (
    vault: HardhatVault,
    request: Request,
    surroundings: ReadSurroundings<Args>,
  ) => Promise<TaskReport | StreamedReport>,
): NewTaskActionFunction<Args> {
  return taskAction(async (args, hre, write) => {
    const request = parse(args, hre);
    const { timeout } = request;
    const { stdout } = process;
    return await withVault(
      hre,
      "read",
      args,
      async (vault, { inPlace, stderr, startProgress }) =>
        await work(vault.during({ timeout }), request, {
          args,
          hre,
          write: inPlace(write),
          stdout,
          stderr,
          startProgress,
        }),
      timeout,
    );
  });
}

/**
 * What a document says of a block: that of the tag, or the latest. In one request
 * where the node allows that.
 */
export async function readEnvelope(
  vault: VaultReader,
  blockTag?: BlockTag,
): Promise<Envelope> {
  const context = vault.readContext({ blockTag });
  const { network } = context;
  const provider = lessPatient(context.provider);
  const atOnce = await readChainAndBlock({ ...context, provider });
  if (atOnce !== undefined) {
    return { network, ...atOnce };
  }
  const [chainId, block] = await Promise.all([
    vault.chainId(),
    vault.block(blockTag),
  ]);
  return { network, chainId, block };
}
