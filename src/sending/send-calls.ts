// Sends what needs no journal: guards and mocks.

import type { VaultClient } from "../client/vault-client.js";
import { VaultError } from "../errors.js";
import { hasHost } from "../host.js";
import type { VaultHost } from "../host.js";
import type { Hex } from "../protocol/index.js";
import { getNextBlock } from "../rpc/blocks.js";
import type { NextBlock } from "../rpc/blocks.js";
import { getNonce, isDevelopmentNode } from "../rpc/chain.js";
import type { Call } from "../rpc/chain.js";
import { noRetries } from "../rpc/rpc-client.js";
import type { Receipt } from "../rpc/transactions.js";
import {
  offerAtMost,
  parseFeeLimits,
  requireFeeLimit,
  requireWithin,
  resolveFees,
  resolveGas,
} from "./fees.js";
import type { Fees } from "./fees.js";
import { Following } from "./follow.js";
import { TimeLimit } from "./job.js";
import type { CheckRound, End } from "./job.js";
import { findFreeNonce } from "./signer.js";
import type { Signer } from "./signer.js";
import { sign } from "./transaction.js";

interface Sending {
  readonly signer: Signer;
  /** Asks a person, who judges the highest cost in wei. Default: nobody is asked. */
  readonly confirm?: ((maxCost: bigint) => Promise<void>) | undefined;
  /** Why nothing is to be sent any more. Default: nothing stands against it. */
  readonly checkRound?: CheckRound;
  readonly onHash?: (hash: Hex) => void;
  /** Makes the error of a call that reverts, or is not known to be mined. */
  readonly failed: (problem: string) => VaultError;
}

/** For each transaction; a deadline of the client may come first. */
const TIMEOUT_MS = 300_000;
/** A development node is near, and mostly mines at once. */
const POLLING_MS = { development: 50, live: 500 };

/**
 * Sends calls of one account in their order, and waits until all are mined; as many as a block
 * holds are sent before it waits. After a failure it looks, and signs nothing
 * again.
 *
 * @throws VaultError of `failed`, VAULT_FEE_ABOVE_LIMIT, VAULT_FEE_LIMIT_NEEDED,
 * VAULT_PENDING_TRANSACTIONS and errors of a request
 */
export async function sendCalls(
  vault: VaultClient,
  calls: readonly Call[],
  { signer, confirm, checkRound, onHash, failed }: Sending,
): Promise<readonly Receipt[]> {
  const { rpc } = vault;
  const from = signer.address;
  const host = hasHost(vault) ? vault : undefined;
  const requireMined = (end: End): Receipt => {
    if (end.kind === "mined" && end.receipt.succeeded !== false) {
      return end.receipt;
    }
    throw failed(
      end.kind === "mined"
        ? `transaction ${end.hash} was mined and failed`
        : end.reason.replace(/\.$/u, ""),
    );
  };
  const named: Hex[] = [];
  try {
    const chainId = await vault.chainId();
    const isDevelopment = await isDevelopmentNode(rpc);
    let next = await getNextBlock(rpc);
    const receipts: Receipt[] = [];
    const sent: Following[] = [];
    const waitForAll = async (): Promise<void> => {
      for (const following of sent.splice(0)) {
        receipts.push(requireMined(await following.toEnd()));
      }
    };
    let room = next.gasLimit;
    let first: number | undefined;
    for (const call of calls) {
      const request = { from, ...call };
      const found = await resolveGas(
        rpc,
        host?.connection.networkConfig ?? {},
        request,
        next,
      );
      if ("reverted" in found) {
        throw failed(found.reverted.text);
      }
      const { gas } = found;
      if (gas > room) {
        // Of what waits for a later block, anvil drops some.
        await waitForAll();
        next = await getNextBlock(rpc);
        room = next.gasLimit;
      }
      room -= gas;
      // A plain provider has no limits: the node or the wallet behind it sets the price.
      const fees =
        host === undefined
          ? undefined
          : await agreedFees(host, gas, next, confirm);
      // On a development node, others of the account may wait for the next block, too.
      first ??= isDevelopment
        ? await getNonce(rpc, from, "pending")
        : await findFreeNonce(rpc, signer, next.base.number);
      const nonce = first + receipts.length + sent.length;
      const unsigned = { ...request, chainId, nonce, gas, fees };
      const transaction = await sign(rpc, signer, unsigned);
      const limit = new TimeLimit(TIMEOUT_MS, rpc);
      const { signal } = limit;
      const following = new Following({
        rpc: rpc.withOptions({ signal }).withRetries(noRetries),
        transactions: [
          { ...transaction, kind: "settlement", preparedAt: Date.now() },
        ],
        isResumed: false,
        sentAfterBlock: next.base.number,
        confirmations: 1,
        limit,
        pollingIntervalMs: POLLING_MS[isDevelopment ? "development" : "live"],
        checkRound: async (at) => await checkRound?.(at),
        emit: (event) => {
          const isNamed = event.type === "hash" || event.type === "sending";
          if (isNamed && event.hash !== null) {
            named.push(event.hash);
            onHash?.(event.hash);
          }
        },
      });
      if (!(await following.begin())) {
        // What comes after it could not be mined without it.
        requireMined(await following.toEnd());
      }
      sent.push(following);
    }
    await waitForAll();
    return receipts;
  } catch (error) {
    // The advice of most errors says that nothing was sent.
    throw named.length === 0 || calls.length === 1
      ? error
      : failed(`${problemOf(error)}; sent: ${named.join(", ")}`);
  }
}

function problemOf(error: unknown): string {
  const text = VaultError.isVaultError(error)
    ? (error.details["problem"] ?? error.shortMessage)
    : error;
  return String(text).replace(/\.$/u, "");
}

/** The fees of now, within the limits, which a person agrees to or a limit bounds. */
async function agreedFees(
  vault: VaultHost,
  gas: bigint,
  next: NextBlock,
  confirm: Sending["confirm"],
): Promise<Fees> {
  const { rpc, connection } = vault;
  const limits = parseFeeLimits(vault);
  const offered = await resolveFees(rpc, connection.networkConfig, next);
  const price = offerAtMost(offered, limits.maxFeePerGas?.wei);
  requireWithin(rpc.network, price.current, price.fees, limits);
  await (confirm === undefined
    ? requireFeeLimit(vault, price, limits)
    : confirm(gas * price.highest));
  return price.fees;
}
