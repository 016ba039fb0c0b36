import { isFailedReading } from "../src/client/failed-reading.js";
import { VaultError, vaultError } from "../src/errors.js";
import type { VaultHost } from "../src/host.js";
import { describeTime, operationEntry } from "../src/protocol/index.js";
import type { DisplaySettings } from "../src/protocol/index.js";
import { describeRound, hasEnded, isSameRound } from "../src/protocol/round.js";
import { isReorganised } from "../src/rpc/pinned-block.js";
import { pause } from "../src/rpc/signals.js";
import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { watchTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { toDocument } from "./error-texts.js";
import { withVault } from "./open-vault.js";
import {
  labelledValues,
  notes,
  present,
  title,
  toned,
} from "./output/blocks.js";
import type { Block } from "./output/blocks.js";
import { describeAnswer, formatValue } from "./output/format-value.js";
import {
  failedCell,
  failureNotes,
  failuresOf,
  labelOf,
  readingsBlock,
  valuesIn,
} from "./output/readings.js";
import { renderText } from "./output/render-text.js";
import { Time } from "./parsers.js";
import { taskAction } from "./run-task.js";
import type { Terminal } from "./terminal.js";
import { ATTEMPT, describeAttempt, readState } from "./vault-state.js";
import type { VaultState } from "./vault-state.js";

/** For one check, retries included. */
const CHECK_TIMEOUT_MS = 10_000;

type Args = TaskValues<typeof watchTask>;

export default taskAction(
  watchTask,
  async (args, surroundings) =>
    await withVault(
      surroundings,
      "read",
      args,
      async (vault) => {
        const { out, progress } = surroundings.terminal;
        const settings = { ...args, ...vault.settings };
        let isMet = args.until === undefined;
        for await (const event of watch(vault, args)) {
          isMet ||= event.isLast;
          if (!(await out.write(showEvent(event, settings, out)))) {
            return { streamed: true, ok: isMet };
          }
          progress(`Watching ${escapeUntrusted(vault.networkName)}`);
        }
        return { streamed: true, ok: true };
      },
      CHECK_TIMEOUT_MS,
    ),
);

export type WatchEvent = {
  /** True if the condition of `--until` holds. */
  readonly isLast: boolean;
} & (
  | { readonly outage: VaultError }
  | {
      readonly seen: VaultState;
      /**
       * For example `round.filledVolume`; empty after an outage without a change, and
       * undefined in the first event.
       */
      readonly changed?: readonly string[];
    }
);

/**
 * Checks the vault until the condition holds; an outage does not end it.
 *
 * @throws VaultError if the first check fails or reads nothing, VAULT_TIME_IN_PAST,
 * VAULT_CHAIN_CHANGED, and VAULT_ROUND_CHANGED if another round replaced the
 * first one
 */
export async function* watch(
  vault: VaultHost,
  { interval = 5_000, until, from }: Pick<Args, "interval" | "until" | "from">,
  // Replaced in tests; both in milliseconds.
  {
    now,
    sleep,
  }: { now: () => number; sleep: (time: number) => Promise<unknown> } = {
    now: Date.now,
    sleep: pause,
  },
): AsyncGenerator<WatchEvent, void, undefined> {
  const startedAt = now();
  const first = await checkVault(vault, from);
  const [failure] = first.failures;
  const found = valuesIn(first.readings);
  if (
    failure !== undefined &&
    found.every(({ value }) => isFailedReading(value))
  ) {
    throw failure;
  }
  let seen = first;
  const isLast = (): boolean =>
    isOver(until, first, seen, (now() - startedAt) / 1_000);
  yield { seen, isLast: isLast() };
  let outage: string | undefined;
  while (!isLast()) {
    await sleep(interval);
    try {
      const latest = await checkVault(vault, from);
      const { network, chainId: actual, block } = latest.envelope;
      const { chainId: expected, block: before } = seen.envelope;
      if (actual !== expected) {
        throw vaultError("VAULT_CHAIN_CHANGED", { network, expected, actual });
      }
      // Nodes behind one URL may be some blocks apart.
      if (block.number < before.number) {
        continue;
      }
      const changed = changesBetween(seen, latest);
      const isBack = outage !== undefined;
      [seen, outage] = [latest, undefined];
      if (isBack || changed.length > 0) {
        yield { seen, changed, isLast: isLast() };
      }
    } catch (error) {
      if (isReorganised(error)) {
        continue;
      }
      if (!isOutage(error)) {
        throw error;
      }
      if (outage !== error.code) {
        yield { outage: error, isLast: false };
      }
      outage = error.code;
    }
  }
}

async function checkVault(
  opened: VaultHost,
  from: string | undefined,
): Promise<VaultState> {
  const vault = opened.withOptions({ timeout: CHECK_TIMEOUT_MS });
  const state = await readState(vault, { from });
  // A reading without an answer is an outage, not a failed reading.
  const outage = state.failures.find(isOutage);
  if (outage !== undefined) {
    throw outage;
  }
  return state;
}

/** The next check may succeed. */
function isOutage(error: unknown): error is VaultError {
  return (
    VaultError.isVaultError(error) &&
    error.kind === "rpc" &&
    error.code !== "VAULT_CHAIN_CHANGED"
  );
}

/** @param elapsed Seconds of this machine, since the clock of a lost node stands still. */
function isOver(
  until: Args["until"],
  first: VaultState,
  { readings: { round }, time }: VaultState,
  elapsed: number,
): boolean {
  if (until === undefined) {
    return false;
  }
  if (until instanceof Time) {
    const now = Math.max(time, first.time + Math.floor(elapsed));
    return BigInt(now) >= until.after(first.time);
  }
  const meant = first.readings.round;
  if (isFailedReading(meant)) {
    throw meant.error;
  }
  // As for a settlement: this machine's clock does not end a round.
  if (until === "expired" && hasEnded(meant, time) === true) {
    return true;
  }
  if (isFailedReading(round)) {
    return false;
  }
  if (!isSameRound(round, meant)) {
    throw vaultError("VAULT_ROUND_CHANGED", {
      expected: describeRound(meant),
      actual: describeRound(round),
    });
  }
  return until === "settled" && round.settled;
}

function changesBetween(before: VaultState, after: VaultState): string[] {
  const answersOf = ({ readings, keeper }: VaultState) =>
    new Map<string, unknown>(
      [
        ...valuesIn(readings),
        { place: "canBeSettled", value: keeper.canBeSettled },
        { place: "expired", value: keeper.expired },
      ].map(({ place, value }) => [
        place,
        // Each check has its own error, which may name the block.
        isFailedReading(value) ? value.error.code : value,
      ]),
    );
  const old = answersOf(before);
  return [...answersOf(after)].flatMap(([place, answer]) =>
    old.get(place) === answer ? [] : place,
  );
}

type ShownArgs = DisplaySettings & Pick<Args, "raw" | "until" | "json">;

/** Lines of text on a terminal, JSON elsewhere. */
export function showEvent(
  event: WatchEvent,
  args: ShownArgs,
  { isTTY, style }: Pick<Terminal["out"], "isTTY" | "style">,
): string {
  return isTTY && !args.json
    ? `${renderText(eventBlocks(event, args), style)}\n`
    : `${toSafeJson(toDocument(documentOf(event)))}\n`;
}

function documentOf(event: WatchEvent): unknown {
  if ("outage" in event) {
    const { code, message } = event.outage;
    return { error: { code, message } };
  }
  const { seen, changed = [] } = event;
  const { envelope, readings: status, keeper } = seen;
  const { canBeSettled, canBeSettledBy, code, reason, expired } = keeper;
  const settlement = { canBeSettled, canBeSettledBy, code, reason, expired };
  return { ...envelope, status, ...settlement, changed };
}

function eventBlocks(event: WatchEvent, args: ShownArgs): readonly Block[] {
  if ("outage" in event) {
    const { shortMessage } = event.outage;
    return [notes(toned("warn", `No answer, trying again: ${shortMessage}`))];
  }
  const { seen, changed } = event;
  const { time, envelope, readings, keeper } = seen;
  const context = { ...args, chainTime: time };
  if (changed === undefined) {
    const { until } = args;
    const end = until instanceof Time ? describeTime(until.after(time)) : until;
    const { round, ...others } = readings;
    const failed = failuresOf(others).map(({ shortMessage }) => shortMessage);
    return [
      title(`Watching${end === undefined ? "" : ` until ${end}`}`, envelope),
      readingsBlock("getLatestRoundInfo", [{ value: round }], context),
      labelledValues([[ATTEMPT, describeAttempt(seen)]]),
      notes(...new Set(failed)),
      failureNotes(failuresOf(readings)),
      notes(toned("dim", "Press Ctrl-C to stop.")),
    ];
  }
  const ofReadings = valuesIn(readings).flatMap(
    ({ place, query: { operation, path }, field, value }) => {
      const { title: label } = operationEntry(operation);
      const { text } = isFailedReading(value)
        ? failedCell(value)
        : formatValue(field ?? { unit: "none" }, value, context);
      return changed.includes(place)
        ? `${labelOf(field ?? { label }, path[1])}  ${text}`
        : [];
    },
  );
  const lines = present([
    ...ofReadings,
    changed.includes("expired") && `Expired  ${describeAnswer(keeper.expired)}`,
    changed.includes("canBeSettled") &&
      `${ATTEMPT}  ${describeAttempt(seen).text}`,
    changed.length === 0 && "answers again",
  ]);
  const label = toned("dim", `block ${envelope.block.number}`);
  return [labelledValues(lines.map((line) => [label, line]))];
}
