import { readFile } from "node:fs/promises";

import { checkValues, checkAnswer, requireObject } from "./values.js";
import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { get, operations, set, targetsOf } from "../protocol/index.js";
import type {
  CalMarginsParameters,
  PoolName,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";
import { requireRegularFile } from "../files/replace-file.js";
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

/** Checks a fixture: the keys of overrides, and `{ error }` for a reading that failed. */
function fixtureState(json: unknown): MockState {
  const {
    format,
    version,
    chainId: _id,
    block: _block,
    orders: recordedOrders,
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
    const answer = get(readings, path);
    // A file written by hand may have margins for any terms.
    if (operation === "calMargins" && Array.isArray(answer)) {
      continue;
    }
    const where = path.join(".");
    const reason = failureOf(answer, where);
    if (reason === undefined) {
      set(values, path, checkAnswer(operation, answer, where));
    } else {
      set(values, path, zeroAnswer(operation));
      const target = targetsOf(operation).find((each) => each.role === role);
      // the table calls an operation's contracts by these words
      const pool = target?.variant as PoolName | undefined;
      failures.push({ operation, pool, reason });
    }
  }
  if (Array.isArray(readings["margins"])) {
    const margins: unknown[] = [];
    for (const [index, each] of readings["margins"].entries()) {
      const where = `margins[${index}]`;
      const reason = failureOf(each, where);
      if (reason === undefined) {
        margins.push(each);
      } else {
        const { error: _error, ...given } = asRecord(each);
        const { inputs } = operations.calMargins;
        const terms = checkValues<CalMarginsParameters>(inputs, given, where);
        failures.push({ operation: "calMargins", terms, reason });
      }
    }
    values["margins"] = margins;
  }
  const orders = new Map<bigint, VaultOrder>();
  for (const [key, order] of Object.entries(
    requireObject(recordedOrders, "orders"),
  )) {
    const where = `orders.${key}`;
    const orderID = parseOrderKey(key);
    const reason = failureOf(order, where);
    if (reason === undefined) {
      orders.set(orderID, checkValues(orderFields, order, where));
    } else {
      failures.push({ operation: "getOrderInfo", orderID, reason });
    }
  }
  // the loop over the answers has checked it
  const round = values["round"] as VaultRound;
  const { settlement, ...empty } = scenarios["empty-vault"](0n);
  const base = {
    ...empty,
    orders,
    // An order that was not captured must not look empty.
    unknownOrders: "revert" as const,
    // An unsettled round has no settlement to record, but may have a price.
    settlement: {
      ...settlement,
      settledPrice:
        round.settledPrice === 0n ? round.strikePrice : round.settledPrice,
      settledAmount: round.settled ? round.settledAmount : BigInt(orders.size),
    },
  };
  return applyOverrides(base, { ...values, failures });
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
