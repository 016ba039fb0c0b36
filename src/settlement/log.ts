import type { VaultHost } from "../host.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { PROJECT_FOLDER, appendProjectFile } from "../files/project-file.js";
import type { Settlement } from "./types.js";

/** Every settlement that was sent and has ended, one JSON document a line. */
const LOG_FILE = `${PROJECT_FOLDER}/settlements.ndjson`;

/** Only the owner reads and writes it. */
const FILE_MODE = 0o600;

/** @throws Error of the system */
export async function appendToLog(
  { context, networkName, instanceName }: VaultHost,
  ended: {
    readonly chainId: number;
    readonly vault: string;
    readonly block: BlockInfo | undefined;
    readonly settlement: Settlement;
  },
): Promise<void> {
  const { chainId, vault, block = null, settlement } = ended;
  const document = {
    time: new Date().toISOString(),
    network: networkName,
    chainId,
    vault,
    instance: instanceName ?? null,
    block,
    settlement,
  };
  const { root } = context.config.paths;
  await appendProjectFile(root, LOG_FILE, document, FILE_MODE);
}
