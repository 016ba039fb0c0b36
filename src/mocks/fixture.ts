import { readFile } from "node:fs/promises";

import { z } from "zod";

import { vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import {
  operationEntry,
  placeReading,
  readingAt,
  targetsOf,
} from "../protocol/index.js";
import type { PoolName, WireType } from "../protocol/index.js";
import {
  isRecordedAddress,
  parseRecorded,
  readUint256,
  recordedAnswer,
  recordedCount,
  recordedFields,
  recordedHex,
} from "../recorded-values.js";
import type { Schema } from "../recorded-values.js";
import { requireRegularFile } from "../regular-file.js";
import { quoteForeignText } from "../untrusted-text.js";
import { zeroAnswer } from "./scenarios.js";
import { answers } from "./state.js";
import type {
  MockAnswers,
  MockOrder,
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

const recordedOrder = recordedAnswer("getOrderInfo");

/**
 * Orders by id, null for one that failed. Those that are nothing but the values
 * of the table are read without the schema, which takes many times as long for
 * thousands of them: it has those with bytes, and whatever it is to refuse and
 * explain.
 */
const recordedOrders = z.unknown().transform((input, { addIssue }) => {
  const orders = new Map<bigint, MockOrder | null>();
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    addIssue({ code: "custom", message: "expected orders by their ids" });
    return orders;
  }
  for (const [key, value] of Object.entries(input)) {
    const id = readUint256(key);
    if (id === undefined) {
      const message = "expected an order's id";
      addIssue({ code: "custom", path: [key], message });
      continue;
    }
    const plain = readPlainOrder(value);
    if (plain !== undefined) {
      orders.set(id, plain);
      continue;
    }
    const isFailed = isFailure(value);
    const schema = isFailed ? failureSchema : recordedOrder;
    const { data, error } = schema.safeParse(value);
    for (const issue of mistakesOf(error?.issues ?? [])) {
      addIssue({ ...issue, path: [key, ...issue.path] });
    }
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of operations has made both the schema and the type
    orders.set(id, isFailed ? null : (data as MockOrder));
  }
  return orders;
});

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
    // In one piece: as "utf8", of many that `JSON.parse` has to join.
    text = (await readFile(file)).toString("utf8");
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

const orderFields = operationEntry("getOrderInfo").outputs;

/** @returns Undefined where the schema has to look at it. */
function readPlainOrder(input: unknown): MockOrder | undefined {
  // A copy has its fields at once; one by one, each would make room for more.
  const order: Record<string, unknown> = { ...asRecord(input) };
  if (Object.keys(order).length !== orderFields.length) {
    return undefined;
  }
  for (const { name, type } of orderFields) {
    const value = readPlainValue(type, order[name]);
    if (value === undefined) {
      return undefined;
    }
    order[name] = value;
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- it has as many fields as the table, and each of the table's with its type
  return order as unknown as MockOrder;
}

function readPlainValue(type: WireType, input: unknown): unknown {
  switch (type) {
    case "uint256":
      return readUint256(input);
    case "uint8":
      return typeof input === "number" && input === (input & 0xff)
        ? input
        : undefined;
    case "bool":
      return typeof input === "boolean" ? input : undefined;
    case "string":
      return typeof input === "string" ? input : undefined;
    case "address":
      return isRecordedAddress(input) ? input.toLowerCase() : undefined;
  }
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
    missingOrdersRevert: [...fixture.orders.values()].includes(null),
    uncapturedOrdersRevert: true,
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
