import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isFailedReading } from "../src/client/failed-reading.js";
import { VaultError, vaultError } from "../src/errors.js";
import { toJsonValue } from "../src/json.js";
import type { VaultHost } from "../src/host.js";
import {
  describeTime,
  get,
  placesOf,
  standaloneQueries,
} from "../src/protocol/index.js";
import type { DisplaySettings, VaultRound } from "../src/protocol/index.js";
import { describeRound, hasEnded, isSameRound } from "../src/protocol/round.js";
import { isReorganised } from "../src/rpc/pinned-block.js";
import { pause } from "../src/rpc/signals.js";
import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { watchTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { toDocument } from "./error-texts.js";
import { withVault } from "./open-vault.js";
import { labelledValues, notes, title, toned } from "./output/blocks.js";
import type { Block } from "./output/blocks.js";
import { describeAnswer, formatValue } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import {
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

export default taskAction(
  watchTask,
  async (args, surroundings) =>
    await withVault(
      surroundings,
      "read",
      args,
      async (vault) => {
        const { out, progress } = surroundings.terminal;
        const show = createDisplay({ ...args, ...vault.settings }, out);
        let isMet = args.until === undefined;
        for await (const event of watch(vault, args)) {
          isMet ||= event.isLast;
          if (!(await out.write(show(event)))) {
            return { streamed: true, ok: isMet };
          }
          progress(`Watching ${escapeUntrusted(vault.networkName)}`);
        }
        return { streamed: true, ok: true };
      },
      CHECK_TIMEOUT_MS,
    ),
);

export type WatchEvent = (
  | {
      readonly kind: "first" | "change";
      readonly seen: VaultState;
      /** For example `round.filledVolume`; may be empty after an outage. */
      readonly changed: readonly string[];
    }
  | { readonly kind: "outage"; readonly error: VaultError }
) & {
  /** True if the condition of `--until` holds. */
  readonly isLast: boolean;
};

/** Replaced in tests. */
export interface WatchClock {
  /** Milliseconds. */
  now(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

/**
 * Checks the vault until the condition holds; an outage does not end it.
 *
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
  }: Pick<TaskValues<typeof watchTask>, "interval" | "until" | "from">,
  clock: WatchClock = { now: Date.now, sleep: pause },
): AsyncGenerator<WatchEvent, void, undefined> {
  const startedAt = clock.now();
  let seen = await checkVault(vault, from);
  const [failure] = seen.failures;
  if (
    failure !== undefined &&
    valuesIn(seen.readings).every(({ value }) => isFailedReading(value))
  ) {
    throw failure;
  }
  const { round: meant } = seen.readings;
  /** True if the round that is meant was settled, and another one is seen. */
  let isPast = false;
  const startTime = seen.time;
  const isOver = createCondition(until, seen);
  // The clock of a node that is out of reach stands still.
  const isLast = (): boolean =>
    isPast ||
    isOver(
      seen,
      Math.max(
        seen.time,
        startTime + Math.floor((clock.now() - startedAt) / 1_000),
      ),
    );
  yield { kind: "first", seen, changed: [], isLast: isLast() };
  let lost: VaultError | undefined;
  while (!isLast()) {
    await clock.sleep(interval);
    try {
      const latest = await checkVault(vault, from);
      const { network, chainId } = latest.envelope;
      if (chainId !== seen.envelope.chainId) {
        const chains = { expected: seen.envelope.chainId, actual: chainId };
        throw vaultError("VAULT_CHAIN_CHANGED", { network, ...chains });
      }
      // Nodes behind one URL may be some blocks apart.
      if (latest.envelope.block.number < seen.envelope.block.number) {
        continue;
      }
      const { round } = latest.readings;
      isPast =
        until === "settled" &&
        !isFailedReading(meant) &&
        !isFailedReading(round) &&
        !isSameRound(round, meant) &&
        (await wasSettled(vault, meant, {
          fromBlock: seen.envelope.block.number,
          toBlock: latest.envelope.block.number,
        }));
      const changed = changesBetween(seen, latest);
      const isBack = lost !== undefined;
      [seen, lost] = [latest, undefined];
      if (isBack || changed.length > 0) {
        yield { kind: "change", seen, changed, isLast: isLast() };
      }
    } catch (error) {
      if (isReorganised(error)) {
        continue;
      }
      if (!isOutage(error)) {
        throw error;
      }
      if (lost?.code !== error.code) {
        yield { kind: "outage", error, isLast: false };
      }
      lost = error;
    }
  }
}

function createCondition(
  until: Until,
  first: VaultState,
): (seen: VaultState, now: number) => boolean {
  if (until === undefined) {
    return () => false;
  }
  if (until instanceof Time) {
    const end = until.after(first.time);
    return (_seen, now) => BigInt(now) >= end;
  }
  const meant = first.readings.round;
  if (isFailedReading(meant)) {
    throw meant.error;
  }
  return ({ readings: { round }, time }) => {
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
  };
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

/**
 * True if the round that was current at the first block was settled by the time another
 * one was seen, also by the block that opened the next one.
 */
async function wasSettled(
  opened: VaultHost,
  meant: VaultRound,
  blocks: { readonly fromBlock: number; readonly toBlock: number },
): Promise<boolean> {
  const vault = opened.withOptions({ timeout: CHECK_TIMEOUT_MS });
  for await (const round of vault.rounds(blocks)) {
    if (isSameRound(round, meant)) {
      return round.settled;
    }
  }
  return false;
}

/** The next check may succeed. */
function isOutage(error: unknown): error is VaultError {
  return (
    VaultError.isVaultError(error) &&
    error.kind === "rpc" &&
    error.code !== "VAULT_CHAIN_CHANGED"
  );
}

function changesBetween(before: VaultState, after: VaultState): string[] {
  const places = standaloneQueries.flatMap((reading) =>
    isFailedReading(get(after.readings, reading.path))
      ? [reading.path.filter((name) => name !== undefined)]
      : placesOf(reading).map(({ path }) => path),
  );
  const textAt = ({ readings }: VaultState, place: readonly string[]): string =>
    toSafeJson(toJsonValue({ at: get(readings, place) }));
  // Each check has its own error, which may name the block.
  const answerAt = (
    { keeper }: VaultState,
    name: "canBeSettled" | "expired",
  ): unknown => {
    const answer = keeper[name];
    return isFailedReading(answer) ? answer.error.code : answer;
  };
  return [
    ...places
      .filter((place) => textAt(before, place) !== textAt(after, place))
      .map((place) => place.join(".")),
    ...(["canBeSettled", "expired"] as const).filter(
      (name) => answerAt(before, name) !== answerAt(after, name),
    ),
  ];
}

type Until = TaskValues<typeof watchTask>["until"];

interface WatchedValues {
  readonly raw: boolean;
  readonly until?: Until | undefined;
}

/** Lines of text on a terminal, JSON elsewhere. */
export function createDisplay(
  settings: DisplaySettings & WatchedValues & { readonly json: boolean },
  { isTTY, style }: Terminal["out"],
): (event: WatchEvent) => string {
  if (!isTTY || settings.json) {
    return (event) => `${toSafeJson(toDocument(documentOf(event)))}\n`;
  }
  return (event) => `${renderText(eventBlocks(event, settings), style)}\n`;
}

function documentOf(event: WatchEvent): unknown {
  if (event.kind === "outage") {
    const { code, message } = event.error;
    return { error: { code, message } };
  }
  const { seen, changed } = event;
  const { envelope, readings: status, keeper } = seen;
  const { canBeSettled, canBeSettledBy, code, reason, expired } = keeper;
  const settlement = { canBeSettled, canBeSettledBy, code, reason, expired };
  return { ...envelope, status, ...settlement, changed };
}

function eventBlocks(
  event: WatchEvent,
  settings: DisplaySettings & WatchedValues,
): readonly Block[] {
  if (event.kind === "outage") {
    const { shortMessage } = event.error;
    return [notes(toned("warn", `No answer, trying again: ${shortMessage}`))];
  }
  const { kind, seen, changed } = event;
  const { round, ...others } = seen.readings;
  const { block } = seen.envelope;
  const context = { ...settings, chainTime: seen.time };
  if (kind === "first") {
    return [
      title(`Watching${describeEnd(settings.until, seen.time)}`, seen.envelope),
      readingsBlock("getLatestRoundInfo", [{ value: round }], context),
      notes(
        describeChange("canBeSettled", seen, context),
        ...new Set(failuresOf(others).map((error) => error.shortMessage)),
      ),
      failureNotes(failuresOf(seen.readings)),
      notes(toned("dim", "Press Ctrl-C to stop.")),
    ];
  }
  const changes =
    changed.length === 0
      ? ["answers again"]
      : changed.map((name) => describeChange(name, seen, context));
  return [
    labelledValues(
      changes.map((change) => [toned("dim", `block ${block.number}`), change]),
    ),
  ];
}

function describeEnd(until: Until, now: number): string {
  return until === undefined
    ? ""
    : ` until ${until instanceof Time ? describeTime(until.after(now)) : until}`;
}

const fields = new Map(
  standaloneQueries.flatMap((query) =>
    placesOf(query).map(({ path, field }) => [
      path.join("."),
      { ...field, label: labelOf(field, query.path[1]) },
    ]),
  ),
);

function describeChange(
  name: string,
  seen: VaultState,
  context: FormatContext,
): string {
  const field = fields.get(name);
  const value = get(seen.readings, name.split("."));
  const text = isFailedReading(value)
    ? `failed: ${value.error.shortMessage}`
    : field !== undefined
      ? formatValue(field, value, context).text
      : name === "expired"
        ? describeAnswer(seen.keeper.expired)
        : describeAttempt(seen).text;
  const other = name === "canBeSettled" ? ATTEMPT : capitalize(name);
  return `${field?.label ?? other}  ${text}`;
}
