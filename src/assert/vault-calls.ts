import { encodeCall } from "../client/codec.js";
import type { VaultClient } from "../client/vault-client.js";
import { GIVEN_PROVIDER, hasErrorCode } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import {
  isOperationName,
  operationEntry,
  operationNames,
  targetsOf,
} from "../protocol/index.js";
import type { Hex, OperationName } from "../protocol/index.js";
import { quoteForeignText } from "../redact.js";

import type { Eip1193Provider } from "../rpc/rpc-client.js";
import { RpcClient } from "../rpc/rpc-client.js";
import { framesOf, traceTransaction } from "../rpc/traces.js";
import type { CallFrame } from "../rpc/traces.js";
import { NoVerdict, describe, requireVault } from "./assertion.js";
import type { Verdict } from "./assertion.js";
import { hashOf, requireReceipt } from "./sent-transaction.js";

/**
 * Checks whether a transaction called an operation, itself or by a contract.
 *
 * @param args If undefined, any arguments pass.
 * @param vault If undefined, the transaction must have its provider, as those of
 * ethers do, and the operation of any contract passes.
 */
export async function checkCalled(
  transaction: unknown,
  operation: unknown,
  args: unknown,
  vault: unknown,
): Promise<Verdict> {
  // Comes first: a rejected promise must not stay unhandled.
  const sent = await transaction;
  if (typeof operation !== "string" || !isOperationName(operation)) {
    throw new NoVerdict(
      `there is no operation ${describe(operation)}; there are ${operationNames.join(", ")}`,
    );
  }
  const client = vault === undefined ? undefined : await requireVault(vault);
  const wanted = await expectedCall(operation, args, client);
  const hash = hashOf(sent);
  const calls = await traceCalls(client?.rpc ?? rpcOf(sent), hash);
  const made = calls.flatMap(({ to, input }) => {
    const name = operationNames.find((each) =>
      input.startsWith(operationEntry(each).selector),
    );
    return name === undefined
      ? []
      : {
          name,
          isWanted:
            input.startsWith(wanted.data) && wanted.to?.includes(to) !== false,
          text: `\n  ${showCall(name, input)} of ${to}`,
        };
  });
  const pass = made.some(({ isWanted }) => isWanted);
  // Of the operation, if it was called; else all that were.
  const same = made.filter(({ name }) => name === operation);
  const list = (same.length > 0 ? same : made)
    .slice(0, MOST_CALLS)
    .map(({ text }) => text)
    .join("");
  const shown =
    args === undefined ? operation : showCall(operation, wanted.data);
  return {
    pass,
    message: pass
      ? `expected transaction ${hash} not to call ${shown}, but it did:${list}`
      : `expected transaction ${hash} to call ${shown}${wanted.to === undefined ? "" : ` of ${wanted.to.join(" or ")}`}, but ${list === "" ? "it called no operation of a vault" : `it called:${list}`}`,
  };
}

/** Calls that a message lists. */
const MOST_CALLS = 10;

async function expectedCall(
  operation: OperationName,
  args: unknown,
  vault: VaultClient | undefined,
): Promise<{
  readonly data: string;
  readonly to: readonly string[] | undefined;
}> {
  const { selector, target } = operationEntry(operation);
  if (args !== undefined && !Array.isArray(args)) {
    throw new NoVerdict(
      `a list of the arguments of ${operation} is needed, got ${describe(args)}`,
    );
  }
  if (args !== undefined && vault === undefined && typeof target === "object") {
    throw new NoVerdict(
      `two contracts have ${operation}: pass the vault after the arguments`,
    );
  }
  const { role, data } =
    args === undefined
      ? { role: undefined, data: selector }
      : encodeCall(operation, listOf(args));
  const roles =
    role === undefined ? targetsOf(operation).map((each) => each.role) : [role];
  const to =
    vault === undefined
      ? undefined
      : await Promise.all(
          roles.map(async (each) =>
            (await vault.addressOf(each)).address.toLowerCase(),
          ),
        );
  return { data, to };
}

/** The node of a transaction of ethers. */
function rpcOf(transaction: unknown): RpcClient {
  const { provider } = asRecord(transaction);
  const { send } = asRecord(provider);
  if (typeof send !== "function") {
    throw new NoVerdict(
      "this transaction does not have its provider: pass the vault after the arguments, undefined for any arguments",
    );
  }
  const eip1193: Eip1193Provider = {
    request: async ({ method, params = [] }): Promise<unknown> =>
      await Reflect.apply(send, provider, [method, params]),
  };
  return new RpcClient(eip1193, GIVEN_PROVIDER);
}

async function traceCalls(
  rpc: RpcClient,
  hash: Hex,
): Promise<readonly CallFrame[]> {
  await requireReceipt(rpc, hash);
  const trace = await traceTransaction(rpc, hash).catch((error: unknown) => {
    throw hasErrorCode(error, "VAULT_RPC_ERROR")
      ? new NoVerdict(
          `the node cannot trace transaction ${hash} (${quoteForeignText(String(error.details["problem"]))}): use anvil, or the network or node of Hardhat 3; that of Hardhat 2 has no callTracer`,
        )
      : error;
  });
  // The code of a deployment is no call data.
  return framesOf(trace).filter(({ type }) => !type.startsWith("CREATE"));
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
