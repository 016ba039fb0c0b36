import { readFile } from "node:fs/promises";

import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { requireRegularFile } from "../files/project-file.js";
import { asRecord } from "../json.js";
import { get, operationEntry, set, targetsOf } from "../protocol/index.js";
import type { PoolName, ReadOperationName } from "../protocol/index.js";
import { quoteForeignText } from "../redact.js";
import { encodeRevertData } from "./failure.js";
import type { ScriptedFailure, ScriptedReason } from "./failure.js";
import { scenarios } from "./scenarios.js";
import {
  answers,
  applyChanges,
  checkChanges,
  checkTerms,
  parseOrderKey,
} from "./state.js";
import type { MockState } from "./types.js";
import { requireObject } from "./values.js";

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
    ...recorded
  } = requireObject(json, "The file");
  if (format !== "hardhat-vault/fixture") {
    throw invalidArgument("format", "it is not hardhat-vault/fixture");
  }
  if (version !== 1) {
    throw invalidArgument("version", "only version 1 can be read");
  }
  const values: Record<string, unknown> = { ...recorded };
  const failures: ScriptedFailure[] = [];
  for (const { operation, role, path } of answers) {
    const answer = get(recorded, path);
    const where = path.join(".");
    const reason = failureOf(answer, where);
    if (reason !== undefined) {
      set(values, path, undefined);
      const target = targetsOf(operation).find((each) => each.role === role);
      // the table calls an operation's contracts by these words
      const pool = target?.variant as PoolName | undefined;
      failures.push({ operation, pool, reason });
    } else if (!Array.isArray(answer)) {
      requireWhole(operation, answer, where);
    }
  }
  if (Array.isArray(recorded["margins"])) {
    values["margins"] = recorded["margins"].filter((each: unknown, index) => {
      const where = `margins[${index}]`;
      const reason = failureOf(each, where);
      if (reason !== undefined) {
        const { error: _error, ...given } = asRecord(each);
        const terms = checkTerms(given, where);
        failures.push({ operation: "calMargins", terms, reason });
      }
      return reason === undefined;
    });
  }
  const orders = Object.entries(requireObject(recorded["orders"], "orders"));
  const found = orders.filter(([key, order]) => {
    const where = `orders.${key}`;
    const orderID = parseOrderKey(key);
    const reason = failureOf(order, where);
    if (reason === undefined) {
      requireWhole("getOrderInfo", order, where);
    } else {
      failures.push({ operation: "getOrderInfo", orderID, reason });
    }
    return reason === undefined;
  });
  const empty = scenarios["empty-vault"](0n);
  const state = applyChanges(
    // An order that was not captured must not look empty.
    { ...empty, unknownOrders: "revert" },
    checkChanges({ ...values, orders: Object.fromEntries(found), failures }),
  );
  const { strikePrice, settledPrice, settledAmount, settled } = state.round;
  return {
    ...state,
    // An unsettled round has no settlement to record, but may have a price.
    settlement: {
      ...state.settlement,
      settledPrice: settledPrice === 0n ? strikePrice : settledPrice,
      settledAmount: settled ? settledAmount : BigInt(found.length),
    },
  };
}

/** Refuses an answer without some of its values, which would be those of a scenario. */
function requireWhole(
  operation: ReadOperationName,
  answer: unknown,
  where: string,
): void {
  const { outputs } = operationEntry(operation);
  const values =
    outputs.length === 1
      ? [answer]
      : outputs.map(({ name }) => asRecord(answer)[name]);
  const missing = outputs[values.indexOf(undefined)];
  if (missing !== undefined) {
    throw invalidArgument(where, `${missing.name} is missing`);
  }
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
