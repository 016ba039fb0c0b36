import { ZeroHash, concat } from "ethers";

import { parseAddress } from "../client/inputs.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import {
  CREATE2_DEPLOYER,
  guardAddressOf,
  guardCreationCode,
  settlerIn,
} from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Hex } from "../protocol/index.js";
import { getCode, hasCode } from "../rpc/accounts.js";
import { getNextBlock } from "../rpc/blocks.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { callContract } from "../rpc/calls.js";
import { getReceipt, getTransaction } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import {
  estimateGas,
  limitFees,
  requireFeeLimit,
  resolveFees,
} from "../sending/fees.js";
import { requireChain } from "./observe.js";
import { sign } from "../sending/transaction.js";
import type { SendableTransaction } from "../sending/transaction.js";
import { send } from "../sending/send.js";
import type { SendAnswer } from "../sending/send.js";
import { findFreeNonce, resolveSigner } from "../sending/signer.js";
import { parseFeeLimits } from "./options.js";

export interface DeployedGuard {
  readonly address: string;
  /** The only account that may settle through it; the zero address for anyone. */
  readonly settler: string;
  /** Null if it was there already. */
  readonly hash: Hex | null;
}

/** Deployment to confirm. Costs are in wei. */
export interface GuardDeployment {
  readonly from: string;
  readonly settler: string;
  /** Null if the chain lacks the deployer: the address then depends on the account. */
  readonly address: string | null;
  readonly chainId: number;
  readonly cost: bigint;
  readonly maxCost: bigint;
}

interface DeployGuardOptions {
  /** Account that deploys. Default: the network's `from`, else its first account. */
  readonly from?: string | undefined;
  /** The only account that may settle; the zero address for anyone. Default: the one that deploys. */
  readonly settler?: string | undefined;
  /** True if `confirm` asks a person, who judges the price. */
  readonly isAsked: boolean;
  /** Called before anything is sent, unless the guard is there. Throws to refuse. */
  readonly confirm: (deployment: GuardDeployment) => Promise<void>;
  readonly onHash: (hash: Hex) => void;
}

/** A deadline of the client may come first. */
const WAIT_MS = 300_000;
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 500;

/**
 * Deploys a guard, at the same address on every chain that has the CREATE2 deployer.
 *
 * @throws VaultError VAULT_GUARD_NOT_DEPLOYED, VAULT_FEE_ABOVE_LIMIT, VAULT_WRONG_CHAIN and
 * errors of a request
 */
export async function deployGuard(
  vault: VaultHost,
  { from, settler: given, isAsked, confirm, onHash }: DeployGuardOptions,
): Promise<DeployedGuard> {
  const { rpc } = vault;
  const { networkConfig } = vault.connection;
  const signer = await resolveSigner(rpc, networkConfig, from);
  const settler = given ?? signer.address;
  const chainId = await vault.chainId();
  requireChain(vault, chainId);
  const hasDeployer = await hasCode(rpc, CREATE2_DEPLOYER);
  const address = hasDeployer ? guardAddressOf(settler) : null;
  if (address !== null && (await hasCode(rpc, address))) {
    await requireGuard(rpc, address, settler);
    return { address, settler, hash: null };
  }
  const code = guardCreationCode(settler);
  const call = hasDeployer
    ? { to: CREATE2_DEPLOYER, data: concat([ZeroHash, code]) }
    : { data: code };
  const { latest, next } = await getNextBlock(rpc);
  const limits = parseFeeLimits(vault, {});
  const offered = await resolveFees(rpc, networkConfig, next);
  const price = limitFees(rpc.network, offered, limits);
  const estimate = await estimateGas(rpc, { from: signer.address, ...call });
  // The deployer reverts without a reason if another account has just deployed it.
  if ("reverted" in estimate) {
    if (address !== null && (await hasCode(rpc, address))) {
      await requireGuard(rpc, address, settler);
      return { address, settler, hash: null };
    }
    throw notDeployed(rpc, estimate.reverted.text);
  }
  if (address !== null) {
    await requireDeployer(rpc, signer.address, call.data, address);
  }
  // A quarter more than the estimate.
  const gas = (estimate.gas * 5n) / 4n;
  if (!isAsked) {
    await requireFeeLimit(vault, price, limits);
  }
  await confirm({
    from: signer.address,
    settler,
    address,
    chainId,
    cost: gas * price.current,
    maxCost: gas * price.highest,
  });
  const nonce = await findFreeNonce(rpc, signer, latest.number);
  const transaction = await sign(rpc, signer, {
    from: signer.address,
    ...call,
    chainId,
    nonce,
    gas,
    fees: price.fees,
  });
  // Another may have deployed it meanwhile: the last request before sending.
  if (address !== null && (await hasCode(rpc, address))) {
    await requireGuard(rpc, address, settler);
    return { address, settler, hash: null };
  }
  const answer = await send(rpc, transaction);
  const hash = transaction.hash ?? ("hash" in answer ? answer.hash : undefined);
  if (hash !== undefined && answer.kind === "accepted") {
    onHash(hash);
  }
  const receipt = await follow(rpc, transaction, answer, hash, address);
  // Without a receipt, another transaction put the guard there.
  const deployed =
    address ?? parseAddress(receipt?.contractAddress, "its address");
  await requireGuard(rpc, deployed, settler);
  return { address: deployed, settler, hash: receipt?.hash ?? null };
}

/**
 * Looks for the transaction, also if the answer to it was lost, and sends signed bytes again.
 *
 * @returns Undefined if another transaction put the guard there.
 * @throws VaultError VAULT_GUARD_NOT_DEPLOYED
 */
async function follow(
  rpc: RpcClient,
  transaction: SendableTransaction,
  sent: SendAnswer,
  hash: Hex | undefined,
  address: string | null,
): Promise<Receipt | undefined> {
  const { nonce, raw } = transaction;
  const name = `transaction ${hash ?? `with nonce ${nonce}`}`;
  const end = performance.now() + WAIT_MS;
  let answer = sent;
  for (let looks = 1; ; looks += 1) {
    const seen = await lookFor(rpc, hash, address).catch(fallbackTo("unread"));
    if (seen === "elsewhere") {
      return undefined;
    }
    if (typeof seen === "object") {
      // Without a status, the code at the address decides.
      if (seen.succeeded === false) {
        // It came second, after that of another account for the same settler.
        if (address !== null && (await hasCode(rpc, address))) {
          return undefined;
        }
        throw notDeployed(rpc, `${name} was mined and failed`);
      }
      return seen;
    }
    if (
      seen === "unknown" &&
      (answer.kind === "refused" || answer.kind === "failed")
    ) {
      const why = answer.problem.replace(/\.$/u, "");
      throw notDeployed(rpc, `sending ${name} failed: ${why}`);
    }
    const isInTime = await rpc.waitBefore(
      {
        method: "eth_getTransactionReceipt",
        reason: "pending",
        problem: `${name} is not mined yet`,
        attempt: looks,
      },
      Math.min(FIRST_POLL_MS * 2 ** looks, LONGEST_POLL_MS),
    );
    if (!isInTime || performance.now() >= end) {
      const why =
        "problem" in answer
          ? `; sending it failed: ${answer.problem.replace(/\.$/u, "")}`
          : "";
      throw notDeployed(rpc, `${name} was not mined in time${why}`);
    }
    if (seen === "unknown" && raw !== undefined && looks % 2 === 0) {
      answer = await send(rpc, transaction);
    }
  }
}

async function lookFor(
  rpc: RpcClient,
  hash: Hex | undefined,
  address: string | null,
): Promise<Receipt | "elsewhere" | "pending" | "unknown"> {
  const receipt = hash === undefined ? undefined : await getReceipt(rpc, hash);
  if (receipt !== undefined) {
    return receipt;
  }
  const isPending =
    hash !== undefined && (await getTransaction(rpc, hash)) !== undefined;
  return isPending
    ? "pending"
    : address !== null && (await hasCode(rpc, address))
      ? "elsewhere"
      : "unknown";
}

/** Other code at the deployer's address would take the payment and deploy nothing. */
async function requireDeployer(
  rpc: RpcClient,
  from: string,
  data: string,
  address: string,
): Promise<void> {
  const call = { from, to: CREATE2_DEPLOYER, data };
  const answer = await callContract(rpc, call, "latest");
  const made = "data" in answer ? `0x${answer.data.toString("hex")}` : "0x";
  if (made.toLowerCase() !== address.toLowerCase()) {
    const problem = `the code at ${CREATE2_DEPLOYER} is not that of the CREATE2 deployer`;
    throw notDeployed(rpc, problem);
  }
}

async function requireGuard(
  rpc: RpcClient,
  address: string,
  settler: string,
): Promise<void> {
  if (settlerIn(await getCode(rpc, address, "latest")) !== settler) {
    throw notDeployed(rpc, `the code at ${address} is not that of the guard`);
  }
}

function notDeployed({ network }: RpcClient, problem: string): VaultError {
  return vaultError("VAULT_GUARD_NOT_DEPLOYED", { network, problem });
}
