import type { LocatedAddress } from "../client/addresses.js";
import { encodeCall, noCode } from "../client/codec.js";
import type { Context } from "../client/reader.js";
import {
  locate,
  readHeader,
  readInOneCall,
  readOrThrow,
  readTogether,
  readValues,
} from "../client/snapshot.js";
import type { LocatedCall, Together } from "../client/snapshot.js";
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
}

/** Reads a vault at one block. */
export async function observe(
  vault: VaultHost,
  blockTag: number | "latest",
): Promise<Observation> {
  return await observeBy(
    vault,
    blockTag,
    async (context, call, target) =>
      await readTogether(context, [call], readOrThrow, [target]),
  );
}

/**
 * Reads a vault at the newest block, by one request if the node can run the lens, else by a
 * header and then the rest: the round is never older than the block.
 */
export async function observeNewest(vault: VaultHost): Promise<Observation> {
  return await observeBy(
    vault,
    "latest",
    async (context, call, target) =>
      (await readInOneCall(context, [call], [target])) ?? {
        ...(await readHeader(context)),
        ...(await readValues(context, [call], readOrThrow, [target])),
      },
  );
}

async function observeBy(
  vault: VaultHost,
  blockTag: number | "latest",
  read: (
    context: Context,
    call: LocatedCall,
    target: string,
  ) => Promise<Omit<Together, "pin">>,
): Promise<Observation> {
  const contract = await vault.addressOf("vault", "settleAll");
  const context = vault.readContext({ blockTag });
  const call = await locate(context, encodeCall("getLatestRoundInfo", []));
  const { chainId, block, values, codes } = await read(
    context,
    call,
    contract.address,
  );
  requireContract(vault, contract, chainId, codes[0] === true);
  // the decoder follows the table entry that makes the type
  return { chainId, contract, block, round: values[0] as VaultRound };
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
