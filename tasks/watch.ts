import { isFailedReading } from "../src/client/read-at-block.js";
import { VaultError, vaultError } from "../src/errors.js";
import type { VaultHost } from "../src/host.js";
import { describeTime, operationEntry } from "../src/protocol/index.js";
import { describeRound, hasEnded, isSameRound } from "../src/protocol/round.js";
import { isReorganised } from "../src/rpc/blocks.js";
import { pause } from "../src/rpc/signals.js";
import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { withVault } from "./open-vault.js";
import { labelledValues, notes, title, toned } from "./output/blocks.js";
import {
  describeAnswer,
  failedCell,
  failureNotes,
  failuresOf,
  formatValue,
  labelOf,
  readingsBlock,
  valuesIn,
} from "./output/values.js";
import { renderText } from "./output/render-text.js";
import { parseFutureTime } from "./parse-options.js";
import { taskAction, toDocument } from "./run-task.js";
import type { TaskReport } from "./run-task.js";
import { ATTEMPT, describeAttempt, readState } from "./vault-state.js";
import type { VaultState } from "./vault-state.js";

/** For one check, retries included. */
const CHECK_TIMEOUT_MS = 10_000;

type Args = TaskValues<"watch">;

export default taskAction(
  tasks.watch,
  async (args, surroundings) =>
    await withVault(
      surroundings,
      { ...args, access: "read", requestTimeout: CHECK_TIMEOUT_MS },
      async (vault) => {
        const { out, progress } = surroundings.terminal;
        const isText = out.isTTY && !args.json;
        let isMet = args.until === undefined;
        for await (const { isLast, json, blocks } of watch(vault, args)) {
          isMet ||= isLast;
          const shown = isText
            ? renderText(blocks, out.style)
            : toSafeJson(toDocument(json));
          if (!(await out.write(`${shown}\n`))) {
            return isMet;
          }
          progress(`Watching ${escapeUntrusted(vault.networkName)}`);
        }
        return true;
      },
    ),
);

/** An event, or a time in Unix seconds. */
type End = "settled" | "expired" | bigint | undefined;

/** What is printed of a check: JSON, or lines of text on a terminal. */
type Shown = Pick<TaskReport, "json" | "blocks">;

export interface WatchEvent extends Shown {
  /** True if the condition of `--until` holds. */
  readonly isLast: boolean;
}

/**
 * Checks the vault until the condition holds; an outage does not end it.
 *
 * @param clock Replaced in tests; both in milliseconds.
 * @throws VaultError if the first check fails or reads nothing, VAULT_TIME_IN_PAST,
 * VAULT_CHAIN_CHANGED, and VAULT_ROUND_CHANGED if another round replaced the
 * first one
 */
export async function* watch(
  vault: VaultHost,
  {
    interval = 5_000,
    until,
    from,
    raw,
  }: Pick<Args, "interval" | "until" | "from" | "raw">,
  clock: { now: () => number; sleep: (time: number) => Promise<unknown> } = {
    now: Date.now,
    sleep: pause,
  },
): AsyncGenerator<WatchEvent, void, undefined> {
  const startedAt = clock.now();
  const first = await checkVault(vault, from);
  const [failure] = first.failures;
  const isRead = valuesIn(first.readings).some(
    ({ value }) => !isFailedReading(value),
  );
  if (failure !== undefined && !isRead) {
    throw failure;
  }
  const end: End =
    until === undefined || until === "settled" || until === "expired"
      ? until
      : parseFutureTime(until, "--until", first.time);
  let seen = first;
  const isLast = (): boolean =>
    isOver(end, first, seen, (clock.now() - startedAt) / 1_000);
  yield { ...firstSight(seen, end, raw), isLast: isLast() };
  let outage: string | undefined;
  while (!isLast()) {
    await clock.sleep(interval);
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
      const old = new Map(
        answersOf(seen, raw).map(({ place, value }) => [place, value]),
      );
      const changed = answersOf(latest, raw).flatMap(({ place, value }) =>
        old.get(place) === value ? [] : place,
      );
      const isBack = outage !== undefined;
      [seen, outage] = [latest, undefined];
      if (isBack || changed.length > 0) {
        yield { ...showChanges(seen, changed, raw), isLast: isLast() };
      }
    } catch (error) {
      if (isReorganised(error)) {
        continue;
      }
      if (!isOutage(error)) {
        throw error;
      }
      if (outage !== error.code) {
        const text = `No answer, trying again: ${error.shortMessage}`;
        const blocks = [notes(toned("warn", text))];
        yield { json: { error }, blocks, isLast: false };
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
  end: End,
  first: VaultState,
  { readings: { round }, time }: VaultState,
  elapsed: number,
): boolean {
  if (end === undefined) {
    return false;
  }
  if (typeof end === "bigint") {
    return Math.max(time, first.time + Math.floor(elapsed)) >= end;
  }
  const meant = first.readings.round;
  if (isFailedReading(meant)) {
    throw meant.error;
  }
  // As for a settlement: this machine's clock does not end a round.
  if (end === "expired" && hasEnded(meant, time) === true) {
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
  return end === "settled" && round.settled;
}

/** Every reading, and the keeper's questions, as they are compared and shown. */
function answersOf(state: VaultState, raw: boolean) {
  const { settings, time, readings, keeper } = state;
  const { canBeSettled, expired } = keeper;
  const context = { ...settings, chainTime: time, raw };
  // Each check has its own error, which may name the block.
  const valueOf = (value: unknown): unknown =>
    isFailedReading(value) ? value.error.code : value;
  const ofReadings = valuesIn(readings).map(
    ({ place, query: { operation, path }, field, value }) => {
      const { title: label } = operationEntry(operation);
      const cell = isFailedReading(value)
        ? failedCell(value)
        : formatValue(field ?? { unit: "none" }, value, context);
      const text = `${labelOf(field ?? { label }, path[1])}  ${cell.text}`;
      return { place, value: valueOf(value), text };
    },
  );
  const attempt = `${ATTEMPT}  ${describeAttempt(state).text}`;
  return [
    ...ofReadings,
    { place: "canBeSettled", value: valueOf(canBeSettled), text: attempt },
    {
      place: "expired",
      value: expired,
      text: `Expired  ${describeAnswer(expired)}`,
    },
  ];
}

export function firstSight(seen: VaultState, end: End, raw: boolean): Shown {
  const { settings, time, envelope, readings } = seen;
  const { round, ...others } = readings;
  const context = { ...settings, chainTime: time, raw };
  const failed = failuresOf(others).map(({ shortMessage }) => shortMessage);
  const until = typeof end === "bigint" ? describeTime(end) : end;
  return {
    json: documentOf(seen, []),
    blocks: [
      title(
        end === undefined ? "Watching" : `Watching until ${until}`,
        envelope,
      ),
      readingsBlock("getLatestRoundInfo", [{ value: round }], context),
      labelledValues([[ATTEMPT, describeAttempt(seen)]]),
      notes(...new Set(failed)),
      failureNotes(failuresOf(readings)),
      notes(toned("dim", "Press Ctrl-C to stop.")),
    ],
  };
}

/** @param changed Places, for example `round.filledVolume`; none after an outage. */
export function showChanges(
  seen: VaultState,
  changed: readonly string[],
  raw: boolean,
): Shown {
  const lines = answersOf(seen, raw).flatMap(({ place, text }) =>
    changed.includes(place) ? text : [],
  );
  const label = toned("dim", `block ${seen.envelope.block.number}`);
  const shown = lines.length === 0 ? ["answers again"] : lines;
  return {
    json: documentOf(seen, changed),
    blocks: [labelledValues(shown.map((line) => [label, line]))],
  };
}

function documentOf(
  { envelope, readings: status, keeper }: VaultState,
  changed: readonly string[],
): object {
  const { canBeSettled, canBeSettledBy, code, reason, expired } = keeper;
  const settlement = { canBeSettled, canBeSettledBy, code, reason, expired };
  return { ...envelope, status, ...settlement, changed };
}
