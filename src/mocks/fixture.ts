import { readFile } from "node:fs/promises";

import { parseUint256 } from "../client/inputs.js";
import {
  checkAllValues,
  checkAnswer,
  requireObject,
} from "../client/values.js";
import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { set, get, targetsOf } from "../protocol/index.js";
import type { PoolName } from "../protocol/index.js";
import { requireRegularFile } from "../regular-file.js";
import { quoteForeignText } from "../untrusted-text.js";
import { encodeRevertData } from "./failure.js";
import { zeroAnswer } from "./scenarios.js";
import {
  answers,
  orderFields,
  parseOrderKey,
  requireKnownKeys,
} from "./state.js";
import type {
  CheckedOrder,
  MockAnswers,
  MockState,
  ScriptedFailure,
  ScriptedReason,
} from "./types.js";

/** What a fixture has beside the answers. */
const otherKeys = {
  format: "",
  version: 1,
  chainId: 1,
  block: { number: 1, timestamp: 1 },
  orders: {},
};

/**
 * Reads a fixture.
 *
 * @returns The mocks' answers that replay it.
 * @throws VaultError VAULT_INVALID_FIXTURE
 */
export async function readFixture(file: string): Promise<MockState> {
  try {
    await requireRegularFile(file);
    return fixtureState(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    const problem = describeProblem(error);
    throw vaultError("VAULT_INVALID_FIXTURE", { file, problem }, error);
  }
}

function describeProblem(error: unknown): string {
  if (VaultError.isVaultError(error)) {
    return quoteForeignText(error.shortMessage.replace(/\.$/u, ""));
  }
  if (error instanceof SyntaxError) {
    return "it is not JSON";
  }
  const { code, message } = asRecord(error);
  if (code === "ENOENT") {
    return "there is no such file";
  }
  return code === undefined ? String(message) : "it cannot be read";
}

/**
 * What failed reverts with the bytes it reverted with. Failures of one contract
 * type alone make both fail, and an order that failed is a missing one that
 * reverts: a mock fails by function. What a settlement writes cannot be
 * recorded before it happens: the strike price and the filled volume.
 */
function fixtureState(json: unknown): MockState {
  const fixture = requireObject(json, "The file");
  if (fixture["format"] !== "hardhat-vault/fixture") {
    throw invalidArgument("format", "it is not hardhat-vault/fixture");
  }
  if (fixture["version"] !== 1) {
    throw invalidArgument("version", "only version 1 can be read");
  }
  requireOrigin(fixture);
  const places: Record<string, unknown> = {};
  const failures: ScriptedFailure[] = [];
  for (const { operation, role, path } of answers) {
    const where = path.join(".");
    const answer = get(fixture, path);
    const reason = failureOf(answer, where);
    set(
      places,
      path,
      reason === undefined
        ? checkAnswer(operation, answer, where)
        : zeroAnswer(operation),
    );
    if (reason !== undefined) {
      failures.push({
        operation,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table calls an operation's contracts by these words
        pool: targetsOf(operation).find((target) => target.role === role)
          ?.variant as PoolName | undefined,
        reason,
      });
    }
  }
  requireKnownKeys(fixture, { ...otherKeys, ...places }, "The file");
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop fills exactly the places that the type names
  const values = places as unknown as MockAnswers;
  const { round } = values;
  return {
    ...values,
    orders: readOrders(fixture["orders"]),
    generatedOrders: null,
    // Of an order that was not captured nothing is known.
    missingOrdersRevert: true,
    settlement: {
      settledPrice: round.settled ? round.settledPrice : round.strikePrice,
      settledAmount: round.settled ? round.settledAmount : round.filledVolume,
    },
    failures,
  };
}

/** A replay needs none of it, but a file in which it is wrong is damaged. */
function requireOrigin(fixture: Readonly<Record<string, unknown>>): void {
  const { number, timestamp } = requireObject(fixture["block"], "block");
  requireKnownKeys(fixture["block"], otherKeys.block, "block");
  parseUint256(fixture["chainId"], "chainId");
  parseUint256(number, "block.number");
  parseUint256(timestamp, "block.timestamp");
}

function readOrders(orders: unknown): MockState["orders"] {
  return new Map(
    Object.entries(requireObject(orders, "orders")).map(([key, order]) => {
      const where = `orders.${key}`;
      const isFailure = failureOf(order, where) !== undefined;
      return [
        parseOrderKey(key),
        isFailure
          ? null
          : checkAllValues<CheckedOrder>(orderFields, order, where),
      ];
    }),
  );
}

/** Why a reading failed when it was captured; undefined if it did not. */
function failureOf(answer: unknown, where: string): ScriptedReason | undefined {
  const { error } = asRecord(answer);
  if (error === undefined) {
    return undefined;
  }
  const { code, revertData } = requireObject(error, `${where}.error`);
  if (typeof revertData !== "string") {
    return `recorded failure: ${String(code)}`;
  }
  const reason = { data: revertData };
  encodeRevertData(reason, `${where}.error.revertData`);
  return reason;
}
