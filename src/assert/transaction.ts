import { inspect } from "node:util";

import { isHexString } from "ethers";

import { encodeCall } from "../client/codec.js";
import type { ReadOptions } from "../client/read-at-block.js";
import type { VaultClient } from "../client/vault-client.js";
import { asRecord } from "../json.js";
import {
  isOperationName,
  operationEntry,
  operationNames,
  targetsOf,
} from "../protocol/index.js";
import type { Hex } from "../protocol/index.js";
import { quoteForeignText } from "../foreign-text.js";
import { requireSameBranch } from "../rpc/blocks.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  CALL_TRACER,
  framesOf,
  getTransaction,
  getTransactions,
  trace,
  waitForReceipt,
} from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import { NoVerdict, describe, requireVault } from "./assertion.js";
import type { Verdict } from "./assertion.js";

/** Time until a node has a transaction. */
const UNKNOWN_LIMIT_MS = 1_000;
const PENDING_LIMIT_MS = 30_000;

/**
 * Waits for a transaction, and reads the vault before and after it.
 */
export async function readAroundTransaction<Value>(
  vault: unknown,
  transaction: unknown,
  read: (client: VaultClient, options: ReadOptions) => Promise<Value>,
): Promise<{
  readonly hash: string;
  readonly before: Value;
  readonly after: Value;
}> {
  // Comes first: a rejected promise must not stay unhandled.
  const sent = await transaction;
  const client = await requireVault(vault);
  const hash = hashOf(sent);
  const { blockNumber, blockHash, succeeded } = await requireReceipt(
    client.rpc,
    hash,
  );
  if (succeeded === false) {
    throw new NoVerdict(
      `transaction ${hash} reverted, so it changed nothing: assert the revert itself, with .revertedWith() and the like`,
    );
  }
  const { length } = await getTransactions(client.rpc, blockNumber);
  if (length !== 1) {
    throw new NoVerdict(
      `block ${blockNumber} of transaction ${hash} holds ${length} transactions, so its own changes cannot be separated: mine it alone`,
    );
  }
  const pin = { number: blockNumber, hash: blockHash };
  const [before, after] = await Promise.all([
    read(client, { blockTag: blockNumber - 1 }),
    read(client, { blockTag: pin }),
  ]);
  await requireSameBranch(client.rpc, pin);
  return { hash, before, after };
}

export function hashOf(subject: unknown): Hex {
  const { transactionHash, status, reason, ...given } = asRecord(subject);
  // viem's receipt has its hash, and a status of its own.
  if (isHexString(transactionHash, 32)) {
    return transactionHash;
  }
  const hadNothingToDo = status === "nothing-to-do";
  if (hadNothingToDo || status === "refused" || status === "reverted") {
    const why = typeof reason === "string" ? `: ${reason}` : "";
    throw new NoVerdict(
      `expected a transaction that settles, but the settlement is ${status}${quoteForeignText(why)}`,
      hadNothingToDo,
    );
  }
  const { hash = subject } = given;
  if (!isHexString(hash, 32)) {
    throw new NoVerdict(
      `expected a transaction, its hash or a settlement, got ${describe(subject)}`,
    );
  }
  return hash;
}

async function requireReceipt(rpc: RpcClient, hash: Hex): Promise<Receipt> {
  const receipt =
    (await waitForReceipt(rpc, hash, UNKNOWN_LIMIT_MS)) ??
    ((await getTransaction(rpc, hash)) === undefined
      ? null
      : await waitForReceipt(rpc, hash, PENDING_LIMIT_MS));
  if (receipt === null) {
    throw new NoVerdict(
      `transaction ${hash} is not known on the vault's network. Was it sent over another connection? hre.vault and network.create() are different chains`,
    );
  }
  if (receipt === undefined) {
    throw new NoVerdict(
      `transaction ${hash} was not mined within ${PENDING_LIMIT_MS / 1000} s`,
    );
  }
  return receipt;
}

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
  await requireReceipt(client.rpc, hash);
  const method = "debug_traceTransaction";
  const traced = await trace(client.rpc, method, hash, CALL_TRACER);
  const made = new Set<string>();
  let pass = false;
  for (const { type, to, input } of framesOf(traced)) {
    const name = operationNames.find((each) =>
      input.startsWith(operationEntry(each).selector),
    );
    // The code of a deployment is no call data.
    if (name !== undefined && !type.startsWith("CREATE")) {
      pass ||= calls.some(
        (call) => call.to === to && input.startsWith(call.begins),
      );
      made.add(`${name} of ${to}`);
    }
  }
  const shown =
    args === undefined ? operation : `${operation} with ${inspect(args)}`;
  const places = calls.map(({ to }) => to).join(" or ");
  const others =
    made.size === 0 ? "no operation of a vault" : [...made].join(", ");
  return {
    pass,
    message: pass
      ? `expected transaction ${hash} not to call ${shown}, but it did`
      : `expected transaction ${hash} to call ${shown} of ${places}, but it called ${others}`,
  };
}
