import { readFile } from "node:fs/promises";

import { z } from "zod";

import { vaultError } from "../errors.js";
import { placeReading, readingAt, targetsOf } from "../protocol/index.js";
import type { PoolName } from "../protocol/index.js";
import {
  parseRecorded,
  recordedAnswer,
  recordedCount,
  recordedFields,
  recordedHex,
  recordedInteger,
} from "../recorded-values.js";
import type { Schema } from "../recorded-values.js";
import { requireRegularFile } from "../regular-file.js";
import { quoteForeignText } from "../untrusted-text.js";
import { zeroAnswer } from "./scenarios.js";
import { answers } from "./state.js";
import type {
  MockAnswers,
  CheckedOrder,
  MockState,
  ScriptedFailure,
  ScriptedReason,
} from "./types.js";

/** How many mistakes of a file are told: others often follow from them. */
const SHOWN_MISTAKES = 3;

/** What stands in the place of a reading that failed. */
const failureSchema = z
  .object({
    error: z
      .object({
        code: z.string(),
        /** What the call reverted with, where it reverted. */
        revertData: recordedHex.optional(),
      })
      .strict(),
  })
  .strict();

type Failure = z.infer<typeof failureSchema>;

const orderId = z
  .string()
  .refine((key) => recordedInteger.safeParse(key).success, {
    message: "expected an order's id",
  });

/** Orders by id, null for one that failed. */
const recordedOrders = z
  .record(orderId, z.union([recordedAnswer("getOrderInfo"), failureSchema]))
  .transform(
    (orders): MockState["orders"] =>
      new Map(
        Object.entries(orders).map(([id, order]) => [
          BigInt(id),
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of operations has made both the schema and the type
          isFailure(order) ? null : (order as CheckedOrder),
        ]),
      ),
  );

const fixtureSchema = z
  .object({
    format: z.literal("hardhat-vault/fixture"),
    version: z.literal(1),
    chainId: recordedCount,
    block: z
      .object({ number: recordedCount, timestamp: recordedCount })
      .strict(),
    orders: recordedOrders,
    ...answerSchemas(),
  })
  .strict();

type Fixture = z.output<typeof fixtureSchema>;

/** Every answer of the mocks at its place, or why there was none. */
function answerSchemas(): Record<string, Schema> {
  const places: Record<string, unknown> = {};
  for (const { operation, path } of answers) {
    placeReading(
      places,
      path,
      z.union([recordedAnswer(operation), failureSchema]),
    );
  }
  return Object.fromEntries(
    Object.entries(places).map(([key, place]) => [key, recordedFields(place)]),
  );
}

/**
 * Reads a fixture.
 *
 * @param file For `JSON.parse` and for error texts.
 * @returns The mocks' answers that replay it.
 * @throws VaultError VAULT_INVALID_FIXTURE
 */
export async function readFixture(file: string): Promise<MockState> {
  const invalid = (problem: string, cause: unknown): Error =>
    vaultError("VAULT_INVALID_FIXTURE", { file, problem }, cause);
  let text: string;
  try {
    await requireRegularFile(file);
    text = await readFile(file, "utf8");
  } catch (error) {
    throw invalid(
      !(error instanceof Error)
        ? "it cannot be read"
        : !("code" in error)
          ? error.message
          : error.code === "ENOENT"
            ? "there is no such file"
            : "it cannot be read",
      error,
    );
  }
  return fixtureState(
    parseRecorded<Fixture>(text, fixtureSchema, describeIssues, invalid),
  );
}

/** The first things that are wrong, and where. */
function describeIssues(issues: readonly z.ZodIssue[]): string {
  const mistakes = mistakesOf(issues);
  const shown = mistakes
    .slice(0, SHOWN_MISTAKES)
    .map(({ path, message }) =>
      quoteForeignText(
        path.length === 0 ? message : `${path.join(".")}: ${message}`,
      ),
    );
  const others = mistakes.length - shown.length;
  return `${shown.join("; ")}${others > 0 ? `; and ${others} more` : ""}`;
}

/** Of alternatives, what is wrong with the first: a value, not a failure. */
function mistakesOf(issues: readonly z.ZodIssue[]): readonly z.ZodIssue[] {
  return issues.flatMap((issue) =>
    issue.code === "invalid_union"
      ? mistakesOf(issue.unionErrors[0]?.issues ?? [])
      : [issue],
  );
}

/**
 * What failed reverts with the bytes it reverted with. Failures of one contract
 * type alone make both fail, and an order that failed is a missing one that
 * reverts: a mock fails by function. What a settlement writes cannot be
 * recorded before it happens: the strike price and the filled volume.
 */
function fixtureState(fixture: Fixture): MockState {
  const places: Record<string, unknown> = {};
  const failures = new Map<string, ScriptedFailure>();
  for (const { operation, role, path } of answers) {
    const answer = readingAt(fixture, path);
    placeReading(
      places,
      path,
      isFailure(answer) ? zeroAnswer(operation) : answer,
    );
    if (isFailure(answer)) {
      failures.set(`${operation} ${role}`, {
        operation,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table calls an operation's contracts by these words
        pool: targetsOf(operation).find((target) => target.role === role)
          ?.variant as PoolName | undefined,
        reason: reasonOf(answer),
      });
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop fills exactly the places that the type names
  const values = places as unknown as MockAnswers;
  const { round } = values;
  return {
    ...values,
    orders: fixture.orders,
    generatedOrders: null,
    // Of an order that was not captured nothing is known.
    missingOrdersRevert: true,
    settlement: {
      settledPrice: round.settled ? round.settledPrice : round.strikePrice,
      settledAmount: round.settled ? round.settledAmount : round.filledVolume,
    },
    failures: [...failures.values()],
  };
}

function reasonOf({ error: { code, revertData } }: Failure): ScriptedReason {
  return revertData === undefined
    ? `recorded failure: ${code}`
    : { data: revertData };
}

function isFailure(answer: unknown): answer is Failure {
  return typeof answer === "object" && answer !== null && "error" in answer;
}
