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
 * `{ error }`.
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
  const ofTerms = recordedMargins(readings["margins"]);
  if (ofTerms !== undefined) {
    values["margins"] = ofTerms.margins;
    failures.push(...ofTerms.failures);
  }
  for (const { operation, role, path } of answers) {
    if (operation === "calMargins" && ofTerms !== undefined) {
      continue;
    }
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
      // the table calls an operation's contracts by these words
      const pool = target?.variant as PoolName | undefined;
      failures.push({ operation, pool, reason });
    }
  }
  // the loop has checked it
  const round = values["round"] as VaultRound;
  const ofOrders = recordedOrders(orders);
  failures.push(...ofOrders.failures);
  const base = {
    ...scenarios["empty-vault"](0n),
    orders: ofOrders.orders,
    // An order that was not captured must not look empty.
    missingOrdersRevert: true,
    // An unsettled round has no settlement to record.
    settlement: {
      settledPrice: round.settled ? round.settledPrice : round.strikePrice,
      settledAmount: round.settled ? round.settledAmount : round.filledVolume,
      notBeforeEnd: false,
    },
  };
  return applyOverrides(base, { ...values, failures });
}

/** @returns Undefined for margins of any terms, as a file written by hand may have them. */
function recordedMargins(list: unknown):
  | {
      readonly margins: readonly unknown[];
      readonly failures: readonly ScriptedFailure[];
    }
  | undefined {
  if (!Array.isArray(list)) {
    return undefined;
  }
  const margins: unknown[] = [];
  const failures: ScriptedFailure[] = [];
  for (const [index, each] of list.entries()) {
    const where = `margins[${index}]`;
    const reason = failureOf(each, where);
    if (reason === undefined) {
      margins.push(each);
    } else {
      const { error: _error, ...given } = requireObject(each, where);
      const { inputs } = operations.calMargins;
      const terms = checkValues<CalMarginsParameters>(inputs, given, where);
      failures.push({ operation: "calMargins", terms, reason });
    }
  }
  return { margins, failures };
}

function recordedOrders(recorded: unknown): {
  readonly orders: MockState["orders"];
  readonly failures: readonly ScriptedFailure[];
} {
  const orders = new Map<bigint, VaultOrder>();
  const failures: ScriptedFailure[] = [];
  for (const [key, order] of Object.entries(
    requireObject(recorded, "orders"),
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
  return { orders, failures };
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
