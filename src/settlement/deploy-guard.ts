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
import { getNextBlock } from "../rpc/blocks.js";
import { getCode, hasCode } from "../rpc/chain.js";
import { noRetries } from "../rpc/rpc-client.js";
import {
  estimateGas,
  offerAtMost,
  requireFeeLimit,
  requireWithin,
  resolveFees,
} from "../sending/fees.js";
import { requireChain } from "./current-round.js";
import { Following } from "../sending/follow.js";
import { TimeLimit, nothingToDo } from "../sending/job.js";
import { findFreeNonce, resolveSigner } from "../sending/signer.js";
import { sign } from "../sending/transaction.js";
import { parseFeeLimits } from "./options.js";

export interface DeployedGuard {
  readonly address: string;
  /** The only account that may settle through it; the zero address for anyone. */
  readonly settler: string;
  /** Null if it was there already. */
  readonly hash: Hex | null;
}

/** Deployment to confirm. */
export interface GuardDeployment {
  readonly from: string;
  readonly settler: string;
  readonly chainId: number;
  /** Highest possible cost, in wei. */
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
const DEPLOYMENT_TIMEOUT_MS = 300_000;
const POLLING_MS = 500;

/**
 * Deploys a guard, at the same address on every chain that has the CREATE2 deployer. The code
 * at the address is the outcome: another may deploy it meanwhile.
 *
 * @throws VaultError VAULT_GUARD_NOT_DEPLOYED, VAULT_FEE_ABOVE_LIMIT, VAULT_WRONG_CHAIN and
 * errors of a request
 */
export async function deployGuard(
  vault: VaultHost,
  { from: given, settler: named, isAsked, confirm, onHash }: DeployGuardOptions,
): Promise<DeployedGuard> {
  const { rpc, connection } = vault;
  const { networkConfig } = connection;
  const signer = await resolveSigner(rpc, networkConfig, given);
  const from = signer.address;
  const settler = named ?? from;
  const chainId = await vault.chainId();
  requireChain(vault, chainId);
  const failed = (problem: string): VaultError =>
    vaultError("VAULT_GUARD_NOT_DEPLOYED", { network: rpc.network, problem });
  const hasDeployer = await hasCode(rpc, CREATE2_DEPLOYER);
  const address = hasDeployer ? guardAddressOf(settler) : undefined;
  const isThere = async (at?: number): Promise<boolean> =>
    address !== undefined && (await hasCode(rpc, address, at));
  const deployed = async (
    hash: Hex | null,
    place: unknown = address,
  ): Promise<DeployedGuard> => {
    const found = parseAddress(place, "its address");
    if (settlerIn(await getCode(rpc, found, "latest")) !== settler) {
      throw failed(`the code at ${found} is not that of the guard`);
    }
    return { address: found, settler, hash };
  };
  if (await isThere()) {
    return await deployed(null);
  }
  const code = guardCreationCode(settler);
  const call = hasDeployer
    ? { from, to: CREATE2_DEPLOYER, data: concat([ZeroHash, code]) }
    : { from, data: code };
  const next = await getNextBlock(rpc);
  const limits = parseFeeLimits(vault);
  const offered = await resolveFees(rpc, networkConfig, next);
  const price = offerAtMost(offered, limits.maxFeePerGas?.wei);
  requireWithin(rpc.network, price.current, price.fees, limits);
  const estimate = await estimateGas(rpc, call);
  if ("reverted" in estimate) {
    throw failed(estimate.reverted.text);
  }
  // A quarter more than the estimate.
  const gas = (estimate.gas * 5n) / 4n;
  if (!isAsked) {
    await requireFeeLimit(vault, price, limits);
  }
  const maxCost = gas * price.highest;
  await confirm({ from, settler, chainId, maxCost });
  const nonce = await findFreeNonce(rpc, signer, next.base.number);
  const unsigned = { ...call, chainId, nonce, gas, fees: price.fees };
  const transaction = await sign(rpc, signer, unsigned);
  const left = rpc.limits.deadline - performance.now();
  const limit = new TimeLimit(
    Math.max(0, Math.min(DEPLOYMENT_TIMEOUT_MS, left)),
  );
  const outcome = await new Following({
    rpc: vault.withOptions({ signal: limit.signal }).rpc.withRetries(noRetries),
    transactions: [
      { ...transaction, kind: "settlement", preparedAt: Date.now() },
    ],
    isResumed: false,
    sentAfterBlock: next.base.number,
    confirmations: 1,
    limit,
    pollingIntervalMs: POLLING_MS,
    checkRound: async (at) =>
      (await isThere(at)) ? nothingToDo("The guard is there.") : undefined,
    emit: (event) => {
      const hash =
        event.type === "hash" || event.type === "sending" ? event.hash : null;
      if (hash !== null) {
        onHash(hash);
      }
    },
  }).toEnd();
  // Without a status in the receipt, the code at the address decides.
  if (outcome.kind === "mined" && outcome.receipt.succeeded !== false) {
    const { hash, contractAddress } = outcome.receipt;
    return await deployed(hash, address ?? contractAddress);
  }
  // Another transaction put it there, also one before this in its block.
  if (await isThere().catch(fallbackTo(false))) {
    return await deployed(null);
  }
  throw failed(
    outcome.kind === "mined"
      ? `transaction ${outcome.hash} was mined and failed`
      : outcome.reason.replace(/\.$/u, ""),
  );
}
