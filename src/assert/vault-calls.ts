import { encodeCall } from "../client/codec.js";
import { hasErrorCode } from "../errors.js";
import {
  isOperationName,
  operationEntry,
  operationNames,
  targetsOf,
} from "../protocol/index.js";
import type { Hex, OperationName } from "../protocol/index.js";
import { quoteForeignText } from "../redact.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { framesOf, CALL_TRACER, trace } from "../rpc/transactions.js";
import type { CallFrame } from "../rpc/transactions.js";
import { NoVerdict, describe, requireVault } from "./assertion.js";
import type { Verdict } from "./assertion.js";
import { hashOf, requireReceipt } from "./sent-transaction.js";

/** Calls that a message lists. */
const MOST_CALLS = 10;

/**
 * Checks whether a transaction called an operation, itself or by a contract.
 *
 * @param args If undefined, any arguments pass.
 */
export async function checkCalled(
  vault: unknown,
  transaction: unknown,
  operation: unknown,
  args: unknown,
): Promise<Verdict> {
  // Comes first: a rejected promise must not stay unhandled.
  const sent = await transaction;
  const client = await requireVault(vault);
  if (typeof operation !== "string" || !isOperationName(operation)) {
    throw new NoVerdict(
      `there is no operation ${describe(operation)}; there are ${operationNames.join(", ")}`,
    );
  }
  if (args !== undefined && !Array.isArray(args)) {
    throw new NoVerdict(
      `a list of the arguments of ${operation} is needed, got ${describe(args)}`,
    );
  }
  const { selector: data } = operationEntry(operation);
  const wanted =
    args === undefined
      ? targetsOf(operation).map(({ role }) => ({ role, data }))
      : [encodeCall(operation, args)];
  const calls = await Promise.all(
    wanted.map(async ({ role, data: begins }) => {
      const { address } = await client.addressOf(role);
      return { to: address.toLowerCase(), begins };
    }),
  );
  const hash = hashOf(sent);
  const made = (await traceCalls(client.rpc, hash)).flatMap(({ to, input }) => {
    const name = operationNames.find((each) =>
      input.startsWith(operationEntry(each).selector),
    );
    const isWanted = calls.some(
      (call) => call.to === to && input.startsWith(call.begins),
    );
    return name === undefined
      ? []
      : { name, isWanted, text: `\n  ${showCall(name, input)} of ${to}` };
  });
  const pass = made.some(({ isWanted }) => isWanted);
  // Of the operation, if it was called; else all that were.
  const same = made.filter(({ name }) => name === operation);
  const list = (same.length > 0 ? same : made)
    .slice(0, MOST_CALLS)
    .map(({ text }) => text)
    .join("");
  const shown =
    args === undefined
      ? operation
      : calls.map(({ begins }) => showCall(operation, begins)).join();
  return {
    pass,
    message: pass
      ? `expected transaction ${hash} not to call ${shown}, but it did:${list}`
      : `expected transaction ${hash} to call ${shown} of ${calls.map(({ to }) => to).join(" or ")}, but ${list === "" ? "it called no operation of a vault" : `it called:${list}`}`,
  };
}

async function traceCalls(
  rpc: RpcClient,
  hash: Hex,
): Promise<readonly CallFrame[]> {
  await requireReceipt(rpc, hash);
  const traced = await trace(
    rpc,
    "debug_traceTransaction",
    hash,
    CALL_TRACER,
  ).catch((error: unknown) => {
    throw hasErrorCode(error, "VAULT_RPC_ERROR")
      ? new NoVerdict(
          `the node cannot trace transaction ${hash} (${quoteForeignText(String(error.details["problem"]))}): use anvil, or the network or node of Hardhat 3; that of Hardhat 2 has no callTracer`,
        )
      : error;
  });
  // The code of a deployment is no call data.
  return framesOf(traced).filter(({ type }) => !type.startsWith("CREATE"));
}

/** Example: `calMargins({ maxVolume: 5, APY: 6, endTime: 7 })`. */
function showCall(operation: OperationName, data: string): string {
  const { selector, inputs } = operationEntry(operation);
  const words = data.slice(selector.length).match(/.{64}/gu) ?? [];
  const values = inputs.map(({ name }, index) => {
    const word = words[index];
    const value = word === undefined ? "missing" : String(BigInt(`0x${word}`));
    return inputs.length > 1 ? `${name}: ${value}` : value;
  });
  const list = values.join(", ");
  return `${operation}(${inputs.length > 1 ? `{ ${list} }` : list})`;
}
