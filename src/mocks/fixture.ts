import { readFile } from "node:fs/promises";

import { MaxUint256, ZeroAddress, getBytes } from "ethers";
import { z } from "zod/v4";

import { vaultError } from "../errors.js";
import {
  operationEntry,
  placeReading,
  readingAt,
  targetsOf,
} from "../protocol/index.js";
import type { OperationName, PoolName, WireType } from "../protocol/index.js";
import { requireRegularFile } from "../regular-file.js";
import { quoteForeignText } from "../untrusted-text.js";
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

const recordedHex = z
  .string()
  .regex(/^0x(?:[0-9a-f]{2})*$/u, "expected 0x hex data, lower case");

/** One step, where a chain of them takes twice as long for ten thousand orders. */
const recordedInteger = z.transform((input: unknown, { issues }) => {
  const isInteger =
    typeof input === "string" && /^(?:0|[1-9][0-9]{0,77})$/u.test(input);
  const integer = isInteger ? BigInt(input) : 0n;
  if (!isInteger || integer > MaxUint256) {
    const message = isInteger
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
    z.string(),
    z
      .strictObject({ bytes: recordedHex })
      .transform(({ bytes }) => getBytes(bytes)),
  ]),
  // A machine wrote it: checking ten thousand checksums takes 0.15 s.
  address: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/u, "expected an address")
    .toLowerCase(),
} as const satisfies Record<WireType, z.ZodType>;

/** What an operation answers, by its fields in the table of operations. */
function recordedAnswer(operation: OperationName): z.ZodType {
  const { outputs } = operationEntry(operation);
  const [only, ...others] = outputs.map(({ type }) => recordedValues[type]);
  return only !== undefined && others.length === 0
    ? only
    : z.strictObject(
        Object.fromEntries(
          outputs.map(({ name, type }) => [name, recordedValues[type]]),
        ),
      );
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

const fixtureSchema = z.strictObject({
  format: z.literal("hardhat-vault/fixture"),
  version: z.literal(1),
  chainId: count,
  block: z.strictObject({ number: count, timestamp: count }),
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of operations has made both the schema and the type
  orders: z.record(
    z
      .string()
      .refine(
        (id) =>
          /^(?:0|[1-9][0-9]{0,77})$/u.test(id) && BigInt(id) <= MaxUint256,
        "expected an order's id",
      ),
    z.union([recordedAnswer("getOrderInfo"), failureSchema]),
  ) as unknown as z.ZodType<Readonly<Record<string, MockOrder | Failure>>>,
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
    Object.entries(places).map(([key, place]) => [
      key,
      place instanceof z.ZodType ? place : z.strictObject(Object(place)),
    ]),
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
  const inner =
    issue.code === "invalid_union"
      ? issue.errors[0]
      : issue.code === "invalid_key"
        ? issue.issues
        : undefined;
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
  const orders = Object.entries(fixture.orders).map(
    ([id, order]): [bigint, MockOrder | null] => [
      BigInt(id),
      isFailure(order) ? null : order,
    ],
  );
  return {
    ...values,
    orders: new Map(orders),
    generatedOrders: null,
    missingOrdersRevert: orders.some(([, order]) => order === null),
    uncapturedOrdersRevert: true,
    settlement: {
      settledPrice: round.settled ? round.settledPrice : round.strikePrice,
      settledAmount: round.settled ? round.settledAmount : round.filledVolume,
    },
    failures: [...failures.values()],
  };
}

const zeroValues: Readonly<Record<WireType, unknown>> = {
  uint256: 0n,
  uint8: 0,
  bool: false,
  string: "",
  address: ZeroAddress,
};

/** What an operation answers where nothing has been recorded. */
function zeroAnswer(operation: OperationName): unknown {
  const { outputs } = operationEntry(operation);
  const [only, ...others] = outputs.map(({ type }) => zeroValues[type]);
  return others.length === 0
    ? only
    : Object.fromEntries(
        outputs.map(({ name, type }) => [name, zeroValues[type]]),
      );
}

function reasonOf({ error: { code, revertData } }: Failure): ScriptedReason {
  return revertData === undefined
    ? `recorded failure: ${code}`
    : { data: revertData };
}

function isFailure(answer: unknown): answer is Failure {
  return typeof answer === "object" && answer !== null && "error" in answer;
}
