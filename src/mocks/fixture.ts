import { readFile } from "node:fs/promises";

import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { requireRegularFile } from "../files/project-file.js";
import { asRecord, listOf } from "../json.js";
import { get, set, standaloneQueries } from "../protocol/index.js";
import type { ReadOperationName } from "../protocol/index.js";
import { quoteForeignText } from "../redact.js";
import { encodeRevertData } from "./failure.js";
import type { ScriptedFailure, ScriptedReason } from "./failure.js";
import { scenarios } from "./scenarios.js";
import {
  applyChanges,
  checkChanges,
  checkTerms,
  parseOrderKey,
} from "./state.js";
import type { MockState } from "./types.js";
import { answerSchema, parse } from "./values.js";

export async function readFixture(file: string): Promise<MockState> {
  try {
    await requireRegularFile(file);
    return await fixtureState(JSON.parse(await readFile(file, "utf8")));
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
async function fixtureState(json: unknown): Promise<MockState> {
  const { format, version, ...recorded } = asRecord(json);
  if (format !== "hardhat-vault/fixture") {
    throw invalidArgument("format", "it is not hardhat-vault/fixture");
  }
  if (version !== 1) {
    throw invalidArgument("version", "only version 1 can be read");
  }
  const failures: ScriptedFailure[] = [];
  /** Returns a whole answer; undefined for a failure, which the mock repeats. */
  const check = (
    operation: ReadOperationName,
    args: readonly unknown[],
    answer: unknown,
    where: string,
  ): unknown => {
    const { error } = asRecord(answer);
    if (error === undefined) {
      return parse(answerSchema(operation, true), answer, where);
    }
    const reason = reasonOf(error, `${where}.error`);
    // the arguments are those of the operation
    failures.push({ operation, args, reason } as ScriptedFailure);
    return undefined;
  };
  const { chainId: _id, block: _block, ...values } = recorded;
  for (const { operation, args, path } of standaloneQueries) {
    const answer = get(recorded, path);
    set(values, path, check(operation, args, answer, path.join(".")));
  }
  for (const [name, isRight] of [
    ["orders", values["orders"] === asRecord(values["orders"])],
    ["margins", Array.isArray(values["margins"])],
  ] as const) {
    if (values[name] !== undefined && !isRight) {
      throw invalidArgument(name, "it is no list of answers");
    }
  }
  const orders = Object.entries(asRecord(values["orders"])).flatMap(
    ([key, recordedOrder]) => {
      const args = [parseOrderKey(key)];
      const order = check("getOrderInfo", args, recordedOrder, `orders.${key}`);
      return order === undefined ? [] : [[key, order] as const];
    },
  );
  const margins = listOf(values["margins"]).flatMap((each, index) => {
    const where = `margins[${index}]`;
    const { maxVolume, APY, endTime, ...result } = asRecord(each);
    const terms = checkTerms({ maxVolume, APY, endTime }, where);
    const amounts = check("calMargins", [terms], result, where);
    return amounts === undefined ? [] : [{ ...terms, ...asRecord(amounts) }];
  });
  const changes = checkChanges({
    ...values,
    margins,
    orders: Object.fromEntries(orders),
    failures,
  });
  const empty = scenarios["empty-vault"](0n);
  const state = await applyChanges(
    // An order that was not captured must not look empty.
    { ...empty, unknownOrders: "revert" },
    changes,
  );
  const { strikePrice, settledPrice, settledAmount, settled } = state.round;
  return {
    ...state,
    // An unsettled round has no settlement to record, but may have a price.
    settlement: {
      ...state.settlement,
      settledPrice: settledPrice === 0n ? strikePrice : settledPrice,
      settledAmount: settled ? settledAmount : BigInt(orders.length),
    },
  };
}

/** @returns The reason of a failed reading. */
function reasonOf(error: unknown, where: string): ScriptedReason {
  const { code, revertData } = asRecord(error);
  if (typeof revertData !== "string") {
    return `recorded failure: ${String(code)}`;
  }
  const reason = { data: revertData };
  encodeRevertData(reason, `${where}.revertData`);
  return reason;
}
