import type { LocatedAddress } from "../client/addresses.js";
import { noCode } from "../client/codec.js";
import { locate, readOrThrow, readTogether } from "../client/snapshot.js";
import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { hasCode } from "../rpc/accounts.js";
import type { BlockInfo } from "../rpc/blocks.js";

/** State of the chain that a settlement depends on, at one block. */
export interface Observation {
  readonly chainId: number;
  /** The vault contract, which has code. */
  readonly contract: LocatedAddress;
  readonly block: BlockInfo;
  readonly round: VaultRound;
  /** The round as seen at a block that may come after `block`, if it was. */
  readonly laterRound?: VaultRound | undefined;
}

/** Reads a vault at one block, with one `eth_call` if the node can run the lens. */
export async function observe(
  vault: VaultHost,
  blockTag: number | "latest",
): Promise<Observation> {
  const contract = await vault.addressOf("vault", "settleAll");
  const call = { operation: "getLatestRoundInfo", args: [] } as const;
  const located = await locate(vault, call);
  const { chainId, block, values, codes, later } = await readTogether(
    vault,
    [located],
    { blockTag, targets: [contract.address], isNewest: true },
    readOrThrow,
  );
  requireContract(vault, contract, chainId, codes[0] === true);
  return {
    chainId,
    contract,
    block,
    // the decoder follows the table entry that makes the type
    round: values[0] as VaultRound,
    // as the round above
    laterRound: later?.[0] as VaultRound | undefined,
  };
}

export async function locateVault(
  vault: VaultHost,
): Promise<Pick<Observation, "chainId" | "contract">> {
  const contract = await vault.addressOf("vault", "settleAll");
  const chainId = await vault.chainId();
  const isContract = await hasCode(vault.rpc, contract.address);
  requireContract(vault, contract, chainId, isContract);
  return { chainId, contract };
}

/** @throws VaultError VAULT_WRONG_CHAIN */
export function requireChain(
  { connection, networkName: network }: VaultHost,
  actual: number,
): void {
  const { chainId: expected } = connection.networkConfig;
  if (expected !== undefined && expected !== actual) {
    throw vaultError("VAULT_WRONG_CHAIN", { network, expected, actual });
  }
}

function requireContract(
  vault: VaultHost,
  contract: LocatedAddress,
  chainId: number,
  isContract: boolean,
): void {
  requireChain(vault, chainId);
  // settleAll returns nothing, so a call to an address without code succeeds, too.
  if (!isContract) {
    throw noCode("vault", contract, vault.networkName);
  }
}
