import { ZeroHash, concat } from "ethers";

import { parseAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
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
import { waitForReceipt } from "../rpc/transactions.js";
import {
  estimateGas,
  limitFees,
  resolveFees,
} from "../settlement-call/fees.js";
import { requireChain } from "./observe.js";
import { requireUsualPrice } from "../settlement-call/usual-price.js";
import { sign } from "./transaction.js";
import { send } from "./send.js";
import { findFreeNonce, resolveSigner } from "./signer.js";
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

const WAIT_MS = 300_000;

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
  if ("reverted" in estimate) {
    throw notDeployed(rpc, estimate.reverted.text);
  }
  // A quarter more than the estimate.
  const gas = (estimate.gas * 5n) / 4n;
  if (!isAsked) {
    await requireUsualPrice(vault, price, { limits, newest: latest });
  }
  await confirm({
    from: signer.address,
    ...{ settler, address, chainId },
    cost: gas * price.current,
    maxCost: gas * price.highest,
  });
  const nonce = await findFreeNonce(rpc, signer, latest.number);
  const transaction = await sign(rpc, signer, {
    ...{ from: signer.address, ...call, chainId, nonce, gas },
    fees: price.fees,
  });
  const answer = await send(rpc, transaction);
  if (answer.kind !== "accepted" || answer.hash === undefined) {
    const { hash = `with nonce ${nonce}` } = transaction;
    const why = "problem" in answer ? answer.problem : "its hash is not known";
    const problem = `sending transaction ${hash} failed: ${why.replace(/\.$/u, "")}`;
    throw notDeployed(rpc, problem);
  }
  const { hash } = answer;
  onHash(hash);
  const receipt = await waitForReceipt(rpc, hash, WAIT_MS);
  if (receipt === undefined) {
    const problem = `transaction ${hash} was not mined within ${WAIT_MS / 1_000} s`;
    throw notDeployed(rpc, problem);
  }
  const { contractAddress, succeeded } = receipt;
  const deployed = address ?? parseAddress(contractAddress, "its address");
  // Without a status, the code at the address decides.
  if (succeeded === false) {
    throw notDeployed(rpc, `transaction ${hash} was mined and failed`);
  }
  await requireGuard(rpc, deployed, settler);
  return { address: deployed, settler, hash };
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
