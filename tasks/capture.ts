import path from "node:path";

import { requireFixedBlock } from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { assertInvariant, vaultError } from "../src/errors.js";
import { capture } from "../src/mocks/capture.js";
import type { Capture } from "../src/mocks/capture.js";
import { escapeUntrusted, toSafeJson } from "../src/untrusted-text.js";
import type { ArgumentsOf } from "./arguments.js";
import { notes, title } from "./output/blocks.js";
import { writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { parseBlock, parseOrderIds, parseTimeout } from "./parse-options.js";
import { readAction } from "./open-vault.js";
import type { TaskReport } from "./run-task.js";

export default readAction(parseCaptureArguments, captureToFile);

const NO_ORDERS =
  "No order was captured: in a replay each of them reverts and says so. --orders 1-50 captures these.";

/** Records a vault in a file that appears whole or not at all. */
async function captureToFile(
  vault: HardhatVault,
  { out, orders, blockTag }: CaptureRequest,
): Promise<TaskReport> {
  let captured: Capture | undefined;
  async function* pieces(): AsyncGenerator<string> {
    captured = await capture(vault, { orders, blockTag });
    yield `${toSafeJson(captured.fixture, 2)}\n`;
  }
  await writeToFile(pieces(), out);
  assertInvariant(captured !== undefined, "nothing was captured");
  const { fixture, failed } = captured;
  const envelope = {
    network: vault.networkName,
    chainId: fixture.chainId,
    block: fixture.block,
  };
  return {
    json: {
      ...envelope,
      fixture: {
        file: out,
        orders: orders.length,
        failed,
        ...(orders.length > 0 ? {} : { note: NO_ORDERS }),
      },
    },
    blocks: [
      title("Vault captured", envelope),
      notes(
        `Every reading and ${describeCount(orders.length, "order")} written to ${escapeUntrusted(out)}.`,
        ...(orders.length > 0 ? [] : [NO_ORDERS]),
        ...(failed === 0
          ? []
          : [
              {
                text: `${failed} of them failed; they are recorded, and fail in a replay too.`,
                tone: "warn",
              } as const,
            ]),
        `Replay it in a test: await connection.vault.deployMocks({ fixture: ${JSON.stringify(escapeUntrusted(fromRoot(vault, out)))} })`,
      ),
    ],
  };
}

/** A file as `deployMocks()` finds it: from the project's root, on any system. */
function fromRoot(vault: HardhatVault, file: string): string {
  const { root } = vault.context.config.paths;
  return path.relative(root, path.resolve(file)).replaceAll(path.sep, "/");
}

interface CaptureRequest {
  readonly out: string;
  readonly orders: readonly bigint[];
  readonly blockTag: BlockTag;
  /** Milliseconds. */
  readonly timeout: number | undefined;
}

/** Reads the options, before any request. */
function parseCaptureArguments(args: ArgumentsOf<"capture">): CaptureRequest {
  if (args.out === undefined || args.out === "") {
    throw vaultError("VAULT_MISSING_OPTION", {
      where: "--out",
      form: "The file to write, as in --out fixture.json",
    });
  }
  const blockTag = parseBlock(args.block);
  requireFixedBlock(blockTag, "--block");
  return {
    out: args.out,
    orders: args.orders === undefined ? [] : parseOrderIds(args.orders),
    blockTag,
    timeout: parseTimeout(args.timeout),
  };
}
