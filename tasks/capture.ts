import path from "node:path";

import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { assertInvariant } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { capture } from "../src/mocks/capture.js";
import type { Capture } from "../src/mocks/capture.js";
import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { captureTask } from "./definitions/capture.js";
import type { TaskValues } from "./definitions/shared.js";
import { notes, title, toned } from "./output/blocks.js";
import { writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { hideInOrder, readAction } from "./open-vault.js";
import type { TaskReport } from "./run-task.js";

export default readAction(captureTask, captureToFile);

const NO_ORDERS =
  "No order was captured: in a replay each order reverts with that reason. --ids 1-50 captures these.";

async function captureToFile(
  vault: HardhatVault,
  { out, ids: orders = [], block: blockTag }: TaskValues<typeof captureTask>,
): Promise<TaskReport> {
  let captured: Capture | undefined;
  async function* pieces(): AsyncGenerator<string> {
    captured = await capture(vault, { orders, blockTag });
    const { fixture } = captured;
    const recorded: Record<string, unknown> = {};
    for (const [id, order] of Object.entries(asRecord(fixture["orders"]))) {
      recorded[id] = hideInOrder(vault, order);
    }
    yield `${toSafeJson({ ...fixture, orders: recorded }, 2)}\n`;
  }
  await writeToFile(pieces(), out);
  assertInvariant(captured !== undefined, "nothing was captured");
  const { fixture, failed } = captured;
  const failures = `${describeCount(failed, "reading")} failed: a replay fails there, too.`;
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
        `Every reading and ${describeCount(orders.length, "order id")} written to ${escapeUntrusted(out)}.`,
        ...(orders.length > 0 ? [] : [NO_ORDERS]),
        ...(failed === 0 ? [] : [toned("warn", failures)]),
        `Replay it in a test: await connection.vault.deployMocks({ fixture: ${JSON.stringify(escapeUntrusted(fromRoot(vault, out)))} })`,
      ),
    ],
  };
}

/** The path that `deployMocks()` needs: relative to the project's root, with `/`. */
function fromRoot(vault: HardhatVault, file: string): string {
  const { root } = vault.context.config.paths;
  return path.relative(root, path.resolve(file)).replaceAll(path.sep, "/");
}
