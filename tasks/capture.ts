import { readFile } from "node:fs/promises";
import path from "node:path";

import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { assertInvariant, invalidArgument } from "../src/errors.js";
import { checkTerms } from "../src/mocks/state.js";
import type { CalMarginsParameters } from "../src/protocol/index.js";
import { requireRegularFile } from "../src/files/replace-file.js";
import { asRecord } from "../src/json.js";
import { capture } from "../src/mocks/capture.js";
import type { Capture } from "../src/mocks/capture.js";
import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { captureTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { notes, title, toned } from "./output/blocks.js";
import { writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { hideInOrder, readAction } from "./open-vault.js";
import type { TaskReport } from "./run-task.js";

export default readAction(captureTask, captureToFile);

const NO_ORDERS =
  "No order was captured: in a replay each order reverts, and says so. --ids 1-50 captures orders 1 to 50.";

async function captureToFile(
  vault: HardhatVault,
  {
    out,
    ids: orders = [],
    margins: file,
    block: blockTag,
  }: TaskValues<typeof captureTask>,
): Promise<TaskReport> {
  const margins = file === undefined ? [] : await readTerms(file);
  let captured: Capture | undefined;
  async function* pieces(): AsyncGenerator<string> {
    captured = await capture(vault, { orders, margins, blockTag });
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
        margins: captured.margins,
        failed,
        ...(orders.length > 0 ? {} : { note: NO_ORDERS }),
      },
    },
    blocks: [
      title("Vault captured", envelope),
      notes(
        `Every reading and ${describeCount(orders.length, "order id")} written to ${escapeUntrusted(out)}.`,
        orders.length === 0 && NO_ORDERS,
        `The margins of ${describeCount(captured.margins, "set")} of terms were captured: in a replay, other terms revert. --margins FILE captures more.`,
        failed > 0 && toned("warn", failures),
        `Replay it in a test: await connection.vault.deployMocks({ fixture: ${JSON.stringify(escapeUntrusted(fromRoot(vault, out)))} })`,
      ),
    ],
  };
}

/** Reads the file of `--margins`: a list of the arguments of `calMargins`. */
async function readTerms(
  file: string,
): Promise<readonly CalMarginsParameters[]> {
  const where = `--margins ${escapeUntrusted(file)}`;
  let list: unknown;
  try {
    await requireRegularFile(file);
    list = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw invalidArgument(
      where,
      error instanceof SyntaxError ? "it is not JSON" : "it cannot be read",
    );
  }
  if (!Array.isArray(list)) {
    throw invalidArgument(where, "a list of terms is needed");
  }
  return list.map((terms: unknown, index) =>
    checkTerms(terms, `${where}: [${index}]`),
  );
}

/** The path that `deployMocks()` needs: relative to the project's root, with `/`. */
function fromRoot(vault: HardhatVault, file: string): string {
  const { root } = vault.context.config.paths;
  return path.relative(root, path.resolve(file)).replaceAll(path.sep, "/");
}
