import { setTimeout as sleep } from "node:timers/promises";

import { isFailedReading } from "../src/client/failed-reading.js";
import { describeInput } from "../src/client/inputs.js";
import { VaultError, invalidArgument, vaultError } from "../src/errors.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import {
  placesOf,
  readingAt,
  standaloneReadings,
} from "../src/protocol/index.js";
import { describeRound, isSameRound } from "../src/protocol/round.js";
import { explainRefusal } from "../src/rehearsal/refusal.js";
import { settlementCall } from "../src/rehearsal/question.js";
import { toJsonValue } from "../src/json.js";
import { toSafeJson } from "../src/untrusted-text.js";
import type { ArgumentsOf } from "./arguments.js";
import { withVault } from "./open-vault.js";
import { writeAlong } from "./output/destination.js";
import type { WriteText } from "./output/destination.js";
import { createDisplay } from "./output/watch.js";
import type { ShowEvent, Sighting } from "./output/watch.js";
import { failuresOf, sectionsOf } from "./output/status-sections.js";
import type { Waiting } from "./output/waiting.js";
import { parseFutureTime } from "./parse-options.js";
import { taskAction, withStdoutOnStderr } from "./run-task.js";
import type { StreamedReport } from "./run-task.js";

const DEFAULT_INTERVAL_SECONDS = 5;
const MIN_INTERVAL_SECONDS = 0.1;
const MAX_INTERVAL_SECONDS = 86_400;
/** A node that hangs is a node that is away, however often it is asked again. */
const LOOK_TIMEOUT_MS = 10_000;

export default taskAction(async (args: ArgumentsOf<"watch">, hre) => {
  const request = parseWatchArguments(args);
  return await withStdoutOnStderr(
    async (write) =>
      await withVault(
        hre,
        "read",
        args,
        async (vault, { inPlace, hide }) =>
          await watchWhileRead(vault, request, args, inPlace(write), hide),
        LOOK_TIMEOUT_MS,
      ),
  );
});

/**
 * Ends a watch with its reader: in the pause after what could not be written.
 *
 * @returns Not ok where it waits for something that has not come.
 * @throws what else keeps it from being written, as a full disk
 */
async function watchWhileRead(
  vault: HardhatVault,
  request: WatchRequest,
  args: ArgumentsOf<"watch">,
  stdout: WriteText,
  hide: Waiting["hide"],
): Promise<StreamedReport> {
  const { write, failed, end } = writeAlong(stdout);
  const show = createDisplay(
    { ...args, ...vault.settings },
    process.stdout,
    (text) => write(text, () => undefined),
  );
  const report = await watch(vault, request, show, {
    now: Date.now,
    sleep: async (milliseconds) => {
      hide();
      await sleep(milliseconds, undefined, { signal: failed });
    },
  }).catch((error: unknown): StreamedReport => {
    if (!failed.aborted) {
      throw error;
    }
    return { streamed: true, ok: request.until === undefined };
  });
  // Of the last line, which no pause follows.
  await end();
  return report;
}

const untilWords = ["settled", "expired"] as const;

/** What a watch waits for. */
type Until = (typeof untilWords)[number] | ((chainTime: number) => bigint);

export interface WatchRequest {
  readonly intervalSeconds: number;
  /** Undefined for a watch that somebody has to end. */
  readonly until: Until | undefined;
}

/**
 * Checks what can be checked without a network.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_TIME
 */
export function parseWatchArguments({
  until,
  interval,
}: Pick<ArgumentsOf<"watch">, "until" | "interval">): WatchRequest {
  return {
    intervalSeconds: parseInterval(interval),
    until:
      until === undefined
        ? undefined
        : (untilWords.find((word) => word === until) ??
          parseFutureTime(until, "--until", false, untilWords)),
  };
}

function parseInterval(text: string | undefined): number {
  if (text === undefined) {
    return DEFAULT_INTERVAL_SECONDS;
  }
  const seconds = /^[0-9]+(?:\.[0-9]+)?$/u.test(text) ? Number(text) : NaN;
  if (seconds >= MIN_INTERVAL_SECONDS && seconds <= MAX_INTERVAL_SECONDS) {
    return seconds;
  }
  throw invalidArgument(
    "--interval",
    `seconds from ${MIN_INTERVAL_SECONDS} to ${MAX_INTERVAL_SECONDS} are needed, got ${describeInput(text)}`,
  );
}

/** Time, so that a test need not wait for it. */
export interface WatchClock {
  /** Milliseconds. */
  now(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

/**
 * Looks again and again and shows what changed, through outages too, until what
 * is waited for has come.
 *
 * @throws VaultError if the first look fails, VAULT_TIME_IN_PAST,
 * VAULT_CHAIN_CHANGED, and VAULT_ROUND_CHANGED where the round that was to be
 * settled or to expire was replaced before that was seen
 */
export async function watch(
  vault: HardhatVault,
  { intervalSeconds, until }: WatchRequest,
  show: ShowEvent,
  clock: WatchClock,
): Promise<StreamedReport> {
  const startedAt = clock.now();
  let seen = await look(vault);
  const startTime = seen.envelope.block.timestamp;
  // Chains that make no blocks have clocks that stand still; time goes on.
  const chainNow = (): number =>
    Math.max(
      seen.envelope.block.timestamp,
      startTime + Math.floor((clock.now() - startedAt) / 1_000),
    );
  const isOver = createCondition(until, seen);
  show({ kind: "first", seen, changed: [] });
  let lost: VaultError | undefined;
  while (!isOver(seen, chainNow())) {
    await clock.sleep(intervalSeconds * 1_000);
    try {
      const latest = await look(vault);
      const { network, chainId } = latest.envelope;
      if (chainId !== seen.envelope.chainId) {
        const chains = { expected: seen.envelope.chainId, actual: chainId };
        throw vaultError("VAULT_CHAIN_CHANGED", { network, ...chains });
      }
      // Nodes behind one address may be blocks apart.
      if (latest.envelope.block.number < seen.envelope.block.number) {
        continue;
      }
      const changed = changesBetween(seen, latest);
      const isBack = lost !== undefined;
      [seen, lost] = [latest, undefined];
      if (isBack || changed.length > 0) {
        show({ kind: "change", seen, changed });
      }
    } catch (error) {
      if (!isOutage(error)) {
        throw error;
      }
      if (lost?.code !== error.code) {
        show({ kind: "outage", error });
      }
      lost = error;
    }
  }
  return { streamed: true, ok: true };
}

/** Tells if what is waited for has come. */
function createCondition(
  until: Until | undefined,
  first: Sighting,
): (seen: Sighting, now: number) => boolean {
  if (until === undefined) {
    return () => false;
  }
  if (typeof until === "function") {
    const end = until(first.envelope.block.timestamp);
    return (_seen, now) => BigInt(now) >= end;
  }
  const meant = first.readings.round;
  if (isFailedReading(meant)) {
    throw meant.error;
  }
  return ({ readings: { round } }, now) => {
    if (until === "expired" && BigInt(now) >= meant.endTime) {
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

async function look(opened: HardhatVault): Promise<Sighting> {
  const vault = opened.during({ timeout: LOOK_TIMEOUT_MS });
  const { chainId, block, ...readings } = await vault.snapshot();
  // A reading that got no answer is an outage and no value.
  const outage = failuresOf(sectionsOf(readings)).find(isOutage);
  if (outage !== undefined) {
    throw outage;
  }
  const { round } = readings;
  return {
    envelope: { network: vault.networkName, chainId, block },
    readings,
    ...(await trySettlement(vault, readings, block.number)),
    expired:
      isFailedReading(round) || round.endTime === 0n
        ? null
        : BigInt(block.timestamp) >= round.endTime,
  };
}

async function trySettlement(
  vault: HardhatVault,
  { round, volume }: Sighting["readings"],
  block: number,
): Promise<Pick<Sighting, "canBeSettled" | "reason">> {
  // A call of an address without code is accepted, too.
  for (const reading of [round, volume]) {
    if (
      isFailedReading(reading) &&
      reading.error.code !== "VAULT_CALL_REVERTED"
    ) {
      return { canBeSettled: null, reason: reading.error.shortMessage };
    }
  }
  if (!isFailedReading(round) && round.settled) {
    return { canBeSettled: false, reason: "the round is settled" };
  }
  const target = await vault.addressOf("vault");
  const sender = vault.readContext({}).from;
  const reverted = await vault.chain.simulate(
    settlementCall(sender, target.address),
    block,
    await vault.chain.gasLimit(block),
  );
  if (reverted === undefined) {
    return { canBeSettled: true, reason: null };
  }
  const { reason } = await explainRefusal(vault, reverted.reason);
  return { canBeSettled: false, reason };
}

/** Whether the next look may be answered. */
function isOutage(error: unknown): error is VaultError {
  return (
    VaultError.isVaultError(error) &&
    error.kind === "rpc" &&
    error.code !== "VAULT_CHAIN_CHANGED"
  );
}

/** What is another than before, as in `round.filledVolume`. */
function changesBetween(before: Sighting, after: Sighting): string[] {
  const places = standaloneReadings.flatMap((reading) =>
    isFailedReading(readingAt(after.readings, reading.path))
      ? [reading.path.filter((name) => name !== undefined)]
      : placesOf(reading).map(({ path }) => path),
  );
  const textAt = ({ readings }: Sighting, place: readonly string[]): string =>
    toSafeJson(toJsonValue({ at: readingAt(readings, place) }));
  return [
    ...places
      .filter((place) => textAt(before, place) !== textAt(after, place))
      .map((place) => place.join(".")),
    ...(["canBeSettled", "expired"] as const).filter(
      (name) => before[name] !== after[name],
    ),
  ];
}
