import { readFile } from "node:fs/promises";

import { ZeroAddress, isAddress } from "ethers";
import { z } from "zod";

import { recordedAnswer, recordedHex } from "../client/recorded-values.js";
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

const count = z.number().int().nonnegative();
const orderSchema = z.union([
  failureSchema,
  recordedAnswer<"getOrderInfo", MockOrder>("getOrderInfo"),
]);

const ordersSchema = z.record(
  z.string().regex(/^(?:0|[1-9][0-9]{0,77})$/u, "expected an order's id"),
  orderSchema,
);

/**
 * Thousands of orders are read by hand, a hundred times as fast. What is not
 * right at first sight goes through the schema, which says what is wrong.
 */
function parseOrders(
  orders: unknown,
  context: z.RefinementCtx,
): z.output<typeof ordersSchema> {
  const read: Array<[string, MockOrder]> = [];
  const rest: Array<[string, unknown]> = [];
  const isRecord =
    typeof orders === "object" && orders !== null && !Array.isArray(orders);
  if (isRecord) {
    const isAddressOnce = remembering(isAddress);
    for (const [id, value] of Object.entries(orders)) {
      const order = SHORT_INTEGER.test(id)
        ? readOrder(value, isAddressOnce)
        : undefined;
      if (order === undefined) {
        rest.push([id, value]);
      } else {
        read.push([id, order]);
      }
    }
  }
  const parsed = ordersSchema.safeParse(
    isRecord ? Object.fromEntries(rest) : orders,
  );
  if (!parsed.success) {
    parsed.error.issues.forEach((issue) => {
      context.addIssue(issue);
    });
    return z.NEVER;
  }
  return { ...Object.fromEntries(read), ...parsed.data };
}

/** Any number of so many digits is below 2^256. */
const SHORT_INTEGER = /^(?:0|[1-9][0-9]{0,76})$/u;

/** An order as `vault capture` writes it; undefined for anything else. */
function readOrder(
  value: unknown,
  isAddressOnce: (text: string) => boolean,
): MockOrder | undefined {
  const { outputs } = operationEntry("getOrderInfo");
  if (
    typeof value !== "object" ||
    value === null ||
    Object.keys(value).length !== outputs.length
  ) {
    return undefined;
  }
  const order: Record<string, unknown> = {};
  for (const { name, type } of outputs) {
    const field: unknown = Reflect.get(value, name);
    switch (type) {
      case "uint256":
        if (typeof field !== "string" || !SHORT_INTEGER.test(field)) {
          return undefined;
        }
        order[name] = BigInt(field);
        break;
      case "uint8":
        if (
          typeof field !== "number" ||
          !Number.isInteger(field) ||
          field < 0 ||
          field > 255
        ) {
          return undefined;
        }
        order[name] = field;
        break;
      case "address":
        if (
          typeof field !== "string" ||
          !/^0x[0-9a-fA-F]{40}$/u.test(field) ||
          !isAddressOnce(field)
        ) {
          return undefined;
        }
        order[name] = field;
        break;
      default:
        if (typeof field !== "string") {
          return undefined;
        }
        order[name] = field;
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop fills every field of the table
  return order as MockOrder;
}

function remembering(
  check: (text: string) => boolean,
): (text: string) => boolean {
  const known = new Map<string, boolean>();
  return (text) => {
    const found = known.get(text) ?? check(text);
    known.set(text, found);
    return found;
  };
}

const fixtureSchema = z
  .object({
    format: z.literal("hardhat-vault/fixture"),
    version: z.literal(1),
    chainId: count,
    block: z.object({ number: count, timestamp: count }).strict(),
    orders: z.unknown().transform(parseOrders),
    ...answerSchemas(),
  })
  .strict();

type Fixture = z.output<typeof fixtureSchema>;

/** Every answer of the mocks at its place, or why there was none. */
function answerSchemas(): Record<string, z.ZodTypeAny> {
  const places: Record<string, unknown> = {};
  for (const { operation, path } of answers) {
    placeReading(
      places,
      path,
      z.union([failureSchema, recordedAnswer(operation)]),
    );
  }
  return Object.fromEntries(
    Object.entries(places).map(([key, place]) => [
      key,
      place instanceof z.ZodType ? place : z.object(Object(place)).strict(),
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
function describeIssues(issues: readonly z.ZodIssue[]): string {
  const mistakes = issues.flatMap(withoutUnions);
  const shown = mistakes
    .slice(0, SHOWN_MISTAKES)
    .map(({ path, message }) =>
      quoteForeignText(
        `${path.length === 0 ? "" : `${path.join(".")}: `}${message}`,
      ),
    );
  const others = mistakes.length - shown.length;
  return `${shown.join("; ")}${others > 0 ? `; and ${others} more` : ""}`;
}

/** Of alternatives, what is wrong with the last: a value, not a failure. */
function withoutUnions(issue: z.ZodIssue): readonly z.ZodIssue[] {
  const inner =
    issue.code === "invalid_union"
      ? issue.unionErrors.at(-1)?.issues
      : undefined;
  return inner?.flatMap(withoutUnions) ?? [issue];
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
