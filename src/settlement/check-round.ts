import { obstacleIn } from "../guard/outcome.js";
import type { VaultHost } from "../host.js";
import type { CheckRound } from "../sending/look.js";
import { endTime, staleAge, staleHead } from "./head-age.js";
import type { JournalEntry } from "../sending/journal.js";
import { observe, observeNewest } from "./observe.js";
import type { ParsedOptions } from "./options.js";

/** An answer that comes later is not waited for: the round is read again. */
const DEADLINE_MS = 5_000;

/** @param acceptsOldHead True if a person agreed to settle on an old block. */
export function roundChecker(
  vault: VaultHost,
  { round: intended }: Pick<JournalEntry, "round">,
  { ifExpired }: Pick<ParsedOptions, "ifExpired">,
  acceptsOldHead = false,
): CheckRound {
  return async (at) => {
    const reader = vault.withOptions({ timeout: DEADLINE_MS });
    const { block, round } = await (at === undefined
      ? observeNewest(reader)
      : observe(reader, at));
    const time =
      at === undefined && ifExpired
        ? await endTime(reader, block)
        : block.timestamp;
    const obstacle = obstacleIn(round, { intended, ifExpired, time });
    const age =
      at === undefined && obstacle === undefined && !acceptsOldHead
        ? await staleAge(reader, block)
        : undefined;
    if (age !== undefined) {
      throw staleHead(vault, block.number, age);
    }
    return obstacle;
  };
}
