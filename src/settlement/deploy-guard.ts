import { ZeroHash, concat } from "ethers";

import { parseAddress } from "../client/inputs.js";
import { hasErrorCode, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import {
  CREATE2_DEPLOYER,
  guardAddressOf,
  guardCreationCode,
  settlerIn,
} from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Hex } from "../protocol/index.js";
import { getCode, hasCode } from "../rpc/chain.js";
import { nothingToDo } from "../sending/job.js";
import { sendCalls } from "../sending/send-calls.js";
import { inTurn, resolveSigner } from "../sending/signer.js";
import { requireChain } from "./current-round.js";

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
  /**
   * Asks a person, who judges the price, unless the guard is there. Throws to refuse. Default:
   * nobody is asked, and on a live chain the fee needs a limit.
   */
  readonly confirm?:
    | ((deployment: GuardDeployment) => Promise<void>)
    | undefined;
  readonly onHash: (hash: Hex) => void;
}

/**
 * Deploys a guard, at the same address on every chain that has the CREATE2 deployer. The code
 * at the address is the outcome: another may deploy it meanwhile.
 *
 * @throws VaultError VAULT_GUARD_NOT_DEPLOYED, VAULT_FEE_ABOVE_LIMIT, VAULT_WRONG_CHAIN and
 * errors of a request
 */
export async function deployGuard(
  vault: VaultHost,
  { from: given, settler: named, confirm, onHash }: DeployGuardOptions,
): Promise<DeployedGuard> {
  const { rpc, connection } = vault;
  const signer = await resolveSigner(rpc, connection.networkConfig, given);
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
    ? { to: CREATE2_DEPLOYER, data: concat([ZeroHash, code]) }
    : { data: code };
  const sending = {
    signer,
    failed,
    onHash,
    confirm:
      confirm === undefined
        ? undefined
        : async (maxCost: bigint) => {
            await confirm({ from, settler, chainId, maxCost });
          },
    checkRound: async (at?: number) =>
      (await isThere(at)) ? nothingToDo("The guard is there.") : undefined,
  };
  const send = async () => await sendCalls(vault, [call], sending);
  // Without a status in the receipt, the code at the address decides.
  const [receipt] = await inTurn(rpc, from, send).catch(
    async (error: unknown) => {
      const isUnknown = hasErrorCode(error, "VAULT_GUARD_NOT_DEPLOYED");
      // Another transaction put it there, also one before this in its block.
      if (isUnknown && (await isThere().catch(() => false))) {
        return [];
      }
      throw error;
    },
  );
  return receipt === undefined
    ? await deployed(null)
    : await deployed(receipt.hash, address ?? receipt.contractAddress);
}
