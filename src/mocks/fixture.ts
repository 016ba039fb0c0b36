import { readFile } from "node:fs/promises";

import { MaxUint256, getBytes } from "ethers";
import { z } from "zod";

import { vaultError } from "../errors.js";
import { operationEntry } from "../protocol/index.js";
import type { OperationName } from "../protocol/index.js";
import { quoteForeignText } from "../untrusted-text.js";
import type { ScriptedFailure, MockOrder, MockState } from "./types.js";

// Everything is validated by the schema below; what TypeScript knows of it
// stops at the tables of fields, which are data.

const HEX_EXPECTED = "expected 0x hex data, lower case";

const uint256Schema = z
  .string()
  .regex(/^(?:0|[1-9][0-9]*)$/u, "expected a whole number as a decimal string")
  .transform(BigInt)
  .refine((value) => value <= MaxUint256, "above 2^256 - 1");

const valueSchemas = {
  uint256: uint256Schema,
  uint8: z.number().int().min(0).max(255),
  bool: z.boolean(),
  // Text, or its bytes where they are not UTF-8.
  string: z.union([
    z
      .object({
        bytes: z.string().regex(/^0x(?:[0-9a-f]{2})*$/u, HEX_EXPECTED),
      })
      .strict()
      .transform(({ bytes }) => getBytes(bytes)),
    z.string(),
  ]),
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/u, "expected an address"),
} as const;

/** What stands in the place of a reading that failed. */
const failureSchema = z
  .object({
    error: z
      .object({
        code: z.string(),
        /** What the call reverted with, where it reverted. */
        revertData: z
          .string()
          .regex(/^0x(?:[0-9a-f]{2})*$/u, HEX_EXPECTED)
          .optional(),
      })
      .strict(),
  })
  .strict();

type Failure = z.infer<typeof failureSchema>;

/** The values that an operation answers, or why it did not. */
function answerSchema<Values extends object>(
  operation: OperationName,
): z.ZodType<Values | Failure, z.ZodTypeDef, unknown> {
  const values = z
    .object(
      Object.fromEntries(
        operationEntry(operation).outputs.map(({ name, type }) => [
          name,
          valueSchemas[type],
        ]),
      ),
    )
    .strict();
  return z.union([
    failureSchema,
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the operations table has made both the schema and the type
    values as unknown as z.ZodType<Values, z.ZodTypeDef, unknown>,
  ]);
}

const numberOrFailure = z.union([failureSchema, uint256Schema]);
const poolSchema =
  answerSchema<MockState["pools"]["public"]>("getLPAmountInfo");

const fixtureSchema = z
  .object({
    format: z.literal("hardhat-vault/fixture"),
    version: z.literal(1),
    chainId: z.number().int().nonnegative(),
    block: z
      .object({
        number: z.number().int().nonnegative(),
        timestamp: z.number().int().nonnegative(),
      })
      .strict(),
    fundingFeeRate: z
      .object({ call: numberOrFailure, put: numberOrFailure })
      .strict(),
    pools: z.object({ public: poolSchema, private: poolSchema }).strict(),
    round: answerSchema<MockState["round"]>("getLatestRoundInfo"),
    volume: numberOrFailure,
    marginBalance:
      answerSchema<MockState["marginBalance"]>("queryMarginBalance"),
    minXMargin: numberOrFailure,
    /** What a next round as long and as large as this one would cost. */
    margins: answerSchema<MockState["margins"]>("calMargins"),
    orders: z.record(
      z.string().regex(/^(?:0|[1-9][0-9]{0,77})$/u, "expected an order's id"),
      answerSchema<MockOrder>("getOrderInfo"),
    ),
  })
  .strict();

/** What `vault capture` recorded, with integers as bigints. */
export type Fixture = z.output<typeof fixtureSchema>;

/**
 * Reads a fixture.
 *
 * @param file For `JSON.parse` and for error texts.
 * @throws VaultError VAULT_INVALID_FIXTURE
 */
export async function readFixture(file: string): Promise<Fixture> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw invalidFixture(
      file,
      error instanceof Error && "code" in error && error.code === "ENOENT"
        ? "there is no such file"
        : "it cannot be read",
      error,
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalidFixture(file, "it is not JSON", error);
  }
  return parseFixture(json, file);
}

/** @throws VaultError VAULT_INVALID_FIXTURE */
export function parseFixture(json: unknown, file: string): Fixture {
  const parsed = fixtureSchema.safeParse(json);
  if (parsed.success) {
    return parsed.data;
  }
  throw invalidFixture(file, describeIssue(parsed.error), parsed.error);
}

/** The first thing that is wrong, and where. */
function describeIssue(error: z.ZodError): string {
  const issue = firstIssue(error.issues);
  return `${issue?.path.join(".") ?? ""}: ${quoteForeignText(issue?.message ?? "invalid")}`;
}

/** Of alternatives, what is wrong with the last: a value, not a failure. */
function firstIssue(issues: readonly z.ZodIssue[]): z.ZodIssue | undefined {
  const [issue] = issues;
  const inner =
    issue?.code === "invalid_union"
      ? issue.unionErrors.at(-1)?.issues
      : undefined;
  return inner === undefined ? issue : firstIssue(inner);
}

function invalidFixture(file: string, problem: string, cause: unknown): Error {
  return vaultError("VAULT_INVALID_FIXTURE", { file, problem }, cause);
}

const ZERO_ROUND: MockState["round"] = {
  strikePrice: 0n,
  APY: 0n,
  maxVolume: 0n,
  filledVolume: 0n,
  minDeposit: 0n,
  startTime: 0n,
  endTime: 0n,
  settledPrice: 0n,
  settledAmount: 0n,
  settled: false,
};
const ZERO_POOL = { deposit: 0n, availabe: 0n, locked: 0n };
const ZERO_MARGINS = { baseMarginAmount: 0n, xMarginAmount: 0n };

/**
 * The mocks' answers that replay a fixture.
 *
 * What failed reverts with the bytes it reverted with. Failures of one contract
 * type alone make both fail, and an order that failed is a missing one that
 * reverts: a mock fails by function. What a settlement writes cannot be
 * recorded before it happens: the strike price and the filled volume.
 */
export function fixtureState(fixture: Fixture): MockState {
  const { call, put } = fixture.fundingFeeRate;
  const round = valueOr(fixture.round, ZERO_ROUND);
  const orders = Object.entries(fixture.orders).map(
    ([id, order]): [bigint, MockOrder | null] => [
      BigInt(id),
      isFailure(order) ? null : order,
    ],
  );
  return {
    fundingFeeRate: { call: valueOr(call, 0n), put: valueOr(put, 0n) },
    pools: {
      public: valueOr(fixture.pools.public, ZERO_POOL),
      private: valueOr(fixture.pools.private, ZERO_POOL),
    },
    round,
    orders: new Map(orders),
    generatedOrders: null,
    missingOrdersRevert: orders.some(([, order]) => order === null),
    margins: valueOr(fixture.margins, ZERO_MARGINS),
    marginBalance: valueOr(fixture.marginBalance, ZERO_MARGINS),
    volume: valueOr(fixture.volume, 0n),
    minXMargin: valueOr(fixture.minXMargin, 0n),
    settlement: round.settled
      ? {
          settledPrice: round.settledPrice,
          settledAmount: round.settledAmount,
        }
      : {
          settledPrice: round.strikePrice,
          settledAmount: round.filledVolume,
        },
    failures: [
      ...failureOf("getFundingFeeRate", isFailure(call) ? call : put),
      ...failureOf("getLPAmountInfo", fixture.pools.public, "public"),
      ...failureOf("getLPAmountInfo", fixture.pools.private, "private"),
      ...failureOf("getLatestRoundInfo", fixture.round),
      ...failureOf("queryVolume", fixture.volume),
      ...failureOf("queryMarginBalance", fixture.marginBalance),
      ...failureOf("minXMargin", fixture.minXMargin),
      ...failureOf("calMargins", fixture.margins),
    ],
  };
}

function failureOf(
  operation: OperationName,
  answer: unknown,
  pool?: "public" | "private",
): ScriptedFailure[] {
  if (!isFailure(answer)) {
    return [];
  }
  const { code, revertData } = answer.error;
  return [
    {
      operation,
      pool,
      reason:
        revertData === undefined
          ? `recorded failure: ${code}`
          : { data: revertData },
    },
  ];
}

function isFailure(answer: unknown): answer is Failure {
  return typeof answer === "object" && answer !== null && "error" in answer;
}

function valueOr<Value>(answer: Value | Failure, otherwise: Value): Value {
  return isFailure(answer) ? otherwise : answer;
}
