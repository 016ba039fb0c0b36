import type { LocatedAddress } from "../client/addresses.js";
import { decodeOrThrow, encodeCall, noCode } from "../client/codec.js";
import { entryAnswer, tryLens } from "../client/lens/lens.js";
import type { LensAnswer } from "../client/lens/lens.js";
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

/**
 * Reads a vault with one `eth_call`, so that all values are of the same block. If the
 * node does not apply state overrides, each value needs a request.
 */
export async function observe(
  vault: VaultHost,
  block: number | "latest",
): Promise<Observation> {
  const seen = await observeAtOnce(vault, block);
  return (
    seen ?? {
      ...(await locateVault(vault)),
      block: await vault.block(block),
      // The round comes last, to be as recent as possible.
      round: await vault.read("getLatestRoundInfo", [], { blockTag: block }),
    }
  );
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

async function observeAtOnce(
  vault: VaultHost,
  blockTag: number | "latest",
): Promise<Observation | undefined> {
  const contract = await vault.addressOf("vault", "settleAll");
  const call = encodeCall("getLatestRoundInfo", []);
  const factory = await vault.addressOf(call.role, "getLatestRoundInfo");
  const answer = await tryLens(vault.readContext({ blockTag }), [
    // Only the presence of code matters here, not the result.
    { target: contract.address, data: "0x" },
    { target: factory.address, data: call.data },
  ]);
  if (answer === undefined) {
    return undefined;
  }
  const observationIn = (one: LensAnswer): Observation | undefined => {
    const [code, round] = one.entries;
    if (
      code === undefined ||
      // The factory may refuse callers with code, such as the lens: read without it.
      round?.status !== "returned"
    ) {
      return undefined;
    }
    const { chainId, block } = one;
    requireContract(vault, contract, chainId, code.hasCode);
    return {
      chainId,
      contract,
      block,
      // the decoder follows the table entry that makes the type
      round: decodeOrThrow({
        call,
        target: factory,
        network: vault.networkName,
        answer: entryAnswer(one, round, (text) =>
          vault.rpc.redactor.hide(text),
        ),
        lacksCode: !round.hasCode,
      }) as VaultRound,
    };
  };
  const pinned = observationIn(answer);
  if (answer.later === undefined || pinned === undefined) {
    return pinned;
  }
  const later = observationIn(answer.later);
  return later === undefined
    ? undefined
    : { ...pinned, laterRound: later.round };
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
