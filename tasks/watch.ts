import { isFailedReading } from "../src/client/read-at-block.js";
import { VaultError, vaultError } from "../src/errors.js";
import type { VaultHost } from "../src/host.js";
import { describeTime } from "../src/protocol/index.js";
import { describeRound, hasEnded, isSameRound } from "../src/protocol/round.js";
import { pause } from "../src/rpc/signals.js";
import { escapeUntrusted, toSafeJson } from "../src/foreign-text.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import {
  labelledValues,
  notes,
  renderText,
  title,
  toned,
} from "./output/screen.js";
import type { Part } from "./output/screen.js";
import {
  failureNotes,
  readingsPart,
  snapshotParts,
  valuesIn,
} from "./output/values.js";
import { parseFutureTime } from "./parse-options.js";
import { taskAction, toDocument, withVault } from "./run-task.js";
import type { TaskReport } from "./run-task.js";
import { readState, settlementValues } from "./status.js";
import type { VaultState } from "./status.js";

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
        for await (const { isLast, json, screen } of watch(vault, args)) {
          isMet ||= isLast;
          const shown = isText
            ? renderText(screen, out.style)
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
type WatchEnd = "settled" | "expired" | bigint | undefined;

/** What is printed of a check, as JSON or as lines of text on a terminal. */
export interface WatchEvent extends Pick<TaskReport, "json" | "screen"> {
  /** True if the condition of `--until` holds. */
  readonly isLast: boolean;
}

/**
 * Checks the vault until the condition holds; an outage does not end it.
 *
 * @param clock Replaced in tests; both in milliseconds.
 * @throws VaultError if the first check fails or reads nothing, VAULT_INVALID_ARGUMENT,
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
  const read = valuesIn(first.readings);
  if (
    failure !== undefined &&
    read.every(({ value }) => isFailedReading(value))
  ) {
    throw failure;
  }
  const end: WatchEnd =
    until === undefined || until === "settled" || until === "expired"
      ? until
      : parseFutureTime(until, "--until", first.time);
  let seen = first;
  const isLast = (): boolean =>
    isOver(end, first, seen, (clock.now() - startedAt) / 1_000);
  yield {
    json: documentOf(first, []),
    screen: firstSight(first, end, raw),
    isLast: isLast(),
  };
  let outage: string | undefined;
  while (!isLast()) {
    await clock.sleep(interval);
    let latest;
    try {
      latest = await checkVault(vault, from);
    } catch (error) {
      // The next check may succeed.
      if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
        throw error;
      }
      const { code, shortMessage } = error;
      // Told once. A re-org is none.
      if (code !== "VAULT_REORGED" && code !== outage) {
        outage = code;
        const text = `No answer, trying again: ${shortMessage}`;
        const screen = [notes(toned("warn", text))];
        yield { json: { error }, screen, isLast: false };
      }
      continue;
    }
    const { network, chainId: actual, block } = latest.envelope;
    const { chainId: expected, block: before } = seen.envelope;
    if (actual !== expected) {
      throw vaultError("VAULT_CHAIN_CHANGED", { network, expected, actual });
    }
    // Nodes behind one URL may be some blocks apart.
    if (block.number < before.number) {
      continue;
    }
    const old = valuesByPlace(seen);
    const changed = [...valuesByPlace(latest)].flatMap(([place, value]) =>
      old.get(place) === value ? [] : place,
    );
    const isBack = outage !== undefined;
    const screen = [changedLines(seen, latest, raw)];
    [seen, outage] = [latest, undefined];
    if (isBack || changed.length > 0) {
      yield { json: documentOf(seen, changed), screen, isLast: isLast() };
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
  const outage = state.failures.find(({ kind }) => kind === "rpc");
  if (outage !== undefined) {
    throw outage;
  }
  return state;
}

/** @param elapsed Seconds of this machine, since the clock of a lost node stands still. */
function isOver(
  end: WatchEnd,
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

/** What is compared, by its place in the document. */
function valuesByPlace({
  readings,
  keeper,
}: VaultState): ReadonlyMap<string, unknown> {
  const { canBeSettled, expired } = keeper;
  const values = [
    ...valuesIn(readings),
    { place: "canBeSettled", value: canBeSettled },
    { place: "expired", value: expired },
  ];
  // Each check has its own error, which may name the block.
  return new Map(
    values.map(({ place, value }) => [
      place,
      isFailedReading(value) ? value.error.code : value,
    ]),
  );
}

function firstSight(
  state: VaultState,
  end: WatchEnd,
  raw: boolean,
): readonly Part[] {
  const { display, time: chainTime, envelope, readings, failures } = state;
  const round = [{ value: readings.round }];
  const until = typeof end === "bigint" ? describeTime(end) : end;
  const heading = until === undefined ? "Watching" : `Watching until ${until}`;
  return [
    title(heading, envelope),
    readingsPart("getLatestRoundInfo", round, { ...display, chainTime, raw }),
    settlementValues(state),
    failureNotes(failures),
    notes(toned("dim", "Press Ctrl-C to stop.")),
  ];
}

/** The lines of `vault status` that are others now; none after an outage. */
function changedLines(
  before: VaultState,
  after: VaultState,
  raw: boolean,
): Part {
  const old = new Set(linesOf(before, raw));
  const changed = linesOf(after, raw).filter((line) => !old.has(line));
  const label = toned("dim", `block ${after.envelope.block.number}`);
  const shown = changed.length === 0 ? ["answers again"] : changed;
  return labelledValues(shown.map((line) => [label, line]));
}

/** Without the notes, as a countdown, which is another one each time. */
function linesOf(state: VaultState, raw: boolean): readonly string[] {
  const { display, time: chainTime, readings } = state;
  return [
    ...snapshotParts(readings, { ...display, chainTime, raw }),
    settlementValues(state),
  ]
    .flatMap((block) => (block.kind === "values" ? block.rows : []))
    .map(([label, value]) => `${label.text}  ${value.text}`);
}

function documentOf(
  { envelope, readings: status, keeper }: VaultState,
  changed: readonly string[],
): object {
  const { canBeSettled, canBeSettledBy, code, reason, expired } = keeper;
  const settlement = { canBeSettled, canBeSettledBy, code, reason, expired };
  return { ...envelope, status, ...settlement, changed };
}
