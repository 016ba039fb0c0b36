import path from "node:path";

import { asRecord } from "../src/json.js";
import { capture } from "../src/mocks/capture.js";
import { escapeUntrusted, toSafeJson } from "../src/foreign-text.js";
import { tasks } from "./definitions.js";
import { notes, title, toned } from "./output/screen.js";
import { requireReplaceable, writeToFile } from "./output/listing.js";
import { describeCount } from "./output/values.js";
import { hideInOrder, readAction } from "./open-vault.js";

const NO_ORDERS =
  "No order was captured: in a replay each order reverts, and says so. --ids 1-50 captures orders 1 to 50.";

export default readAction(
  tasks.capture,
  async (vault, { out, ids: orders = [], block: blockTag }) => {
    // Checked first: a mistake should not cost a scan.
    await requireReplaceable(out);
    const captured = await capture(vault, { orders, blockTag });
    const { fixture, margins, failed } = captured;
    const recorded = Object.entries(asRecord(fixture["orders"])).map(
      ([id, order]) => [id, hideInOrder(vault, order)] as const,
    );
    const shown = { ...fixture, orders: Object.fromEntries(recorded) };
    await writeToFile(`${toSafeJson(shown, 2)}\n`, out);
    const { chainId, block } = fixture;
    const envelope = { network: vault.networkName, chainId, block };
    // The path that deployMocks() needs: relative to the project's root, with `/`.
    const { root } = vault.context.config.paths;
    const replayed = path.relative(root, path.resolve(out));
    const inTest = JSON.stringify(
      escapeUntrusted(replayed.replaceAll(path.sep, "/")),
    );
    const counted = { file: out, orders: orders.length, margins, failed };
    const hasNone = orders.length === 0;
    return {
      json: {
        ...envelope,
        fixture: { ...counted, ...(hasNone && { note: NO_ORDERS }) },
      },
      screen: [
        title("Vault captured", envelope),
        notes(
          `Every reading and ${describeCount(orders.length, "order id")} written to ${escapeUntrusted(out)}.`,
          hasNone && NO_ORDERS,
          "In a replay, calMargins reverts for other terms than those of the round.",
          failed > 0 &&
            toned(
              "warn",
              `${describeCount(failed, "reading")} failed: a replay fails there, too.`,
            ),
          `Replay it in a test: await connection.vault.deployMocks({ fixture: ${inTest} })`,
        ),
      ],
    };
  },
);
