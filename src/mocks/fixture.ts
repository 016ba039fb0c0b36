import { readFile } from "node:fs/promises";

import { MaxUint256, getBytes, isHexString } from "ethers";
import { z } from "zod/v4";

import { vaultError } from "../errors.js";
import {
  answerOf,
  operationEntry,
  placeReading,
  readingAt,
  targetsOf,
} from "../protocol/index.js";
import type { OperationName, PoolName, WireType } from "../protocol/index.js";
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

/** A machine wrote it: checking ten thousand checksums takes 0.15 s. */
function isAddress(value: unknown): value is string {
  return isHexString(value, 20);
}

const recordedHex = z.string().regex(/^0x(?:[0-9a-f]{2})*$/u, {
  error: "expected 0x hex data, lower case",
  // What is no hex must not go on to what makes bytes of it.
  abort: true,
});

const recordedInteger = z.transform((input: unknown, { issues }) => {
  const integer = readUint256(input);
  if (integer === undefined) {
    const message = isDecimal(input)
      ? "above 2^256 - 1"
      : "expected a whole number as a decimal string";
    issues.push({ code: "custom", input, message });
  }
  return integer;
});

/** A value of each wire type in a fixture. */
const recordedValues = {
  uint256: recordedInteger,
  uint8: z.int().min(0).max(255),
  bool: z.boolean(),
  // Text, or its bytes where they are not UTF-8.
  string: z.union([
    z.string("expected a text, or its bytes as 0x hex data, lower case"),
    z
      .strictObject({ bytes: recordedHex })
      .transform(({ bytes }) => getBytes(bytes)),
  ]),
  address: z.string().refine(isAddress, "expected an address").toLowerCase(),
} as const satisfies Record<WireType, z.ZodType>;

/** What an operation answers, by its fields in the table of operations. */
function recordedAnswer(operation: OperationName): z.ZodType {
  return asSchema(answerOf(operation, ({ type }) => recordedValues[type]));
}

function asSchema(place: unknown): z.ZodType {
  return place instanceof z.ZodType ? place : z.strictObject(Object(place));
}

/** What stands in the place of a reading that failed. */
const failureSchema = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    /** What the call reverted with, where it reverted. */
    revertData: recordedHex.optional(),
  }),
});

type Failure = z.infer<typeof failureSchema>;

const count = z.int().nonnegative();

const recordedOrder = z.union([recordedAnswer("getOrderInfo"), failureSchema]);

/**
 * Orders by id. Those that are nothing but the values of the table are read
 * without the schema, which takes three times as long for thousands of them: it
 * has the failed, those with bytes, and whatever it is to refuse and explain.
 */
const recordedOrders = z.transform((input: unknown, { issues }) => {
  const orders = new Map<bigint, MockOrder | Failure>();
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    issues.push({ code: "invalid_type", expected: "record", input });
    return orders;
  }
  for (const [key, value] of Object.entries(input)) {
    const id = readUint256(key);
    if (id === undefined) {
      const message = "expected an order's id";
      issues.push({ code: "custom", input, path: [key], message });
      continue;
    }
    const plain = readPlainOrder(value);
    if (plain !== undefined) {
      orders.set(id, plain);
      continue;
    }
    const { data, error } = recordedOrder.safeParse(value);
    for (const issue of error?.issues ?? []) {
      issues.push({ ...issue, input: value, path: [key, ...issue.path] });
    }
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of operations has made both the schema and the type
    orders.set(id, data as MockOrder | Failure);
  }
  return orders;
});

const fixtureSchema = z.strictObject({
  format: z.literal("hardhat-vault/fixture"),
  version: z.literal(1),
  chainId: count,
  block: z.strictObject({ number: count, timestamp: count }),
  orders: recordedOrders,
  ...answerSchemas(),
});

type Fixture = z.output<typeof fixtureSchema>;

/** Every answer of the mocks at its place, or why there was none. */
function answerSchemas(): Record<string, z.ZodType> {
  const places: Record<string, unknown> = {};
  for (const { operation, path } of answers) {
    placeReading(
      places,
      path,
      z.union([recordedAnswer(operation), failureSchema]),
    );
  }
  return Object.fromEntries(
    Object.entries(places).map(([key, place]) => [key, asSchema(place)]),
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
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid("it is not JSON", error);
  }
  const parsed = fixtureSchema.safeParse(json);
  if (!parsed.success) {
    throw invalid(describeIssues(parsed.error.issues), parsed.error);
  }
  return fixtureState(parsed.data);
}

const orderFields = operationEntry("getOrderInfo").outputs;

/** @returns Undefined where the schema has to look at it. */
function readPlainOrder(input: unknown): MockOrder | undefined {
  if (
    typeof input !== "object" ||
    input === null ||
    Object.keys(input).length !== orderFields.length
  ) {
    return undefined;
  }
  // Not a copy of the input, where a field "__proto__" would be none.
  const order: Record<string, unknown> = {};
  for (const { name, type } of orderFields) {
    const value = Object.hasOwn(input, name)
      ? readPlainValue(type, Reflect.get(input, name))
      : undefined;
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
      return isAddress(input) ? input.toLowerCase() : undefined;
  }
}

/** Of a uint256. */
const MOST_DIGITS = 78;

function isDecimal(input: unknown): input is string {
  return typeof input === "string" && /^(?:0|[1-9][0-9]{0,77})$/u.test(input);
}

/** @returns Undefined for what is no uint256 in decimal digits. */
function readUint256(input: unknown): bigint | undefined {
  if (!isDecimal(input)) {
    return undefined;
  }
  // A number is exact up to fifteen digits, and to parse it takes half as long.
  const integer = input.length > 15 ? BigInt(input) : BigInt(Number(input));
  return input.length === MOST_DIGITS && integer > MaxUint256
    ? undefined
    : integer;
}

/** The first things that are wrong, and where. */
function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const mistakes = issues.flatMap((issue) => mistakesOf(issue));
  const shown = mistakes
    .slice(0, SHOWN_MISTAKES)
    .map((mistake) => quoteForeignText(mistake));
  const others = mistakes.length - shown.length;
  return `${shown.join("; ")}${others > 0 ? `; and ${others} more` : ""}`;
}

/** Of alternatives, what is wrong with the first: a value, not a failure. */
function mistakesOf(
  issue: z.core.$ZodIssue,
  parents: readonly PropertyKey[] = [],
): readonly string[] {
  const path = [...parents, ...issue.path];
  const inner = issue.code === "invalid_union" ? issue.errors[0] : undefined;
  return (
    inner?.flatMap((each) => mistakesOf(each, path)) ?? [
      `${path.length === 0 ? "" : `${path.join(".")}: `}${issue.message}`,
    ]
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
  const orders = new Map<bigint, MockOrder | null>();
  let missingOrdersRevert = false;
  for (const [id, order] of fixture.orders) {
    orders.set(id, isFailure(order) ? null : order);
    missingOrdersRevert ||= isFailure(order);
  }
  return {
    ...values,
    orders,
    generatedOrders: null,
    missingOrdersRevert,
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
