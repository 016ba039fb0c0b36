import { ZeroAddress } from "ethers";

import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { OTHER_ORIGIN } from "../src/guard/call.js";
import type { VaultHost } from "../src/host.js";
import { toJsonValue } from "../src/json.js";
import { buildSettlement, toSafeBatch } from "../src/settlement/calldata.js";
import {
  describeUnfinished,
  findUnfinished,
} from "../src/settlement/next-run.js";
import type { TaskValues } from "./definitions.js";
import { code, notes, present, toned } from "./output/blocks.js";
import { say } from "./output/render-text.js";
import type { Output } from "./output/render-text.js";
import type { TaskReport } from "./run-task.js";

/** The unsigned transaction of `vault settle --calldata`. */
export async function printCalldata(
  vault: VaultHost,
  { from, ifExpired, safe, tokens }: TaskValues<"settle">,
  err: Output,
): Promise<TaskReport> {
  const built = await buildSettlement(vault, from, tokens, ifExpired);
  const { chainId, header, to, data, sender, estimatedGas, refusal } = built;
  const { number, timestamp } = header;
  // If this one is sent too, two rounds may be settled.
  const open = await findUnfinished(vault);
  const warnings = present([
    refusal !== null &&
      `${sender === ZeroAddress ? "the zero address" : sender} would see this call refused at block ${number}: ${escapeUntrusted(refusal.replace(/\.$/u, ""))}. The round may be settled already, or the contract may accept only another sender (--from).`,
    built.isContract && OTHER_ORIGIN,
    open !== null &&
      `a settlement is under way already: ${describeUnfinished(open)}. Finish it first, with --resume: both may be mined.`,
  ]);
  if (warnings.length > 0) {
    const lines = warnings.map((text) => toned("warn", `Warning: ${text}`));
    await say(err, notes(...lines));
  }
  const document = safe
    ? toSafeBatch(built)
    : {
        network: vault.networkName,
        chainId,
        block: { number, timestamp },
        to,
        data,
        value: "0",
        estimatedGas,
      };
  return {
    json: document,
    // A wallet reads it, so it is JSON without --json, too.
    blocks: [code(toSafeJson(toJsonValue(document), 2))],
  };
}
