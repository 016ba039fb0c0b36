import { readFile } from "node:fs/promises";

import { checkValues, checkAnswer, requireObject } from "../client/values.js";
import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { get, set, targetsOf } from "../protocol/index.js";
import type { PoolName, VaultRound } from "../protocol/index.js";
import { requireRegularFile } from "../files/regular-file.js";
import { quoteForeignText } from "../redact.js";
import { encodeRevertData } from "./failure.js";
import { scenarios, zeroAnswer } from "./scenarios.js";
import {
  answers,
  applyOverrides,
  orderFields,
  parseOrderKey,
} from "./state.js";
import type { MockState, ScriptedFailure, ScriptedReason } from "./types.js";

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
  const { code, message } = asRecord(error);
  return error instanceof SyntaxError
    ? "it is not JSON"
    : code === "ENOENT"
      ? "there is no such file"
      : code === undefined
        ? String(message)
        : "it cannot be read";
}

/**
 * Checks a fixture. It has the keys of overrides; a reading that failed is
 * `{ error }`. An order that failed becomes a missing one, because a mock cannot
 * fail for one order.
 */
function fixtureState(json: unknown): MockState {
  const {
    format,
    version,
    chainId: _id,
    block: _block,
    orders,
    ...readings
  } = requireObject(json, "The file");
  if (format !== "hardhat-vault/fixture") {
    throw invalidArgument("format", "it is not hardhat-vault/fixture");
  }
  if (version !== 1) {
    throw invalidArgument("version", "only version 1 can be read");
  }
  const values: Record<string, unknown> = { ...readings };
  const failures: ScriptedFailure[] = [];
  for (const { operation, role, path } of answers) {
    const where = path.join(".");
    const answer = get(readings, path);
    const reason = failureOf(answer, where);
    const value =
      reason === undefined
        ? checkAnswer(operation, answer, where)
        : zeroAnswer(operation);
    set(values, path, value);
    if (reason !== undefined) {
      const target = targetsOf(operation).find((each) => each.role === role);
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table calls an operation's contracts by these words
      const pool = target?.variant as PoolName | undefined;
      failures.push({ operation, pool, reason });
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop has checked it
  const round = values["round"] as VaultRound;
  const base = {
    ...scenarios["empty-vault"](0n),
    orders: recordedOrders(orders),
    // An order that was not captured must not look empty.
    missingOrdersRevert: true,
    // An unsettled round has no settlement to record.
    settlement: {
      settledPrice: round.settled ? round.settledPrice : round.strikePrice,
      settledAmount: round.settled ? round.settledAmount : round.filledVolume,
    },
  };
  return applyOverrides(base, { ...values, failures });
}

function recordedOrders(orders: unknown): MockState["orders"] {
  return new Map(
    Object.entries(requireObject(orders, "orders")).map(([key, order]) => {
      const where = `orders.${key}`;
      const isFailed = failureOf(order, where) !== undefined;
      return [
        parseOrderKey(key),
        isFailed ? null : checkValues(orderFields, order, where),
      ];
    }),
  );
}

/** @returns The reason of a failed reading; undefined if the reading succeeded. */
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
