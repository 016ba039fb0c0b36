import type { LocatedAddress } from "../client/addresses.js";
import { decodeAnswer, noCode } from "../client/answer.js";
import { encodeCall } from "../client/codec.js";
import { entryAnswer, tryLens } from "../client/lens/lens.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { describeRound, hasEnded, isSameRound } from "../protocol/round.js";
import { describeTime } from "../protocol/time.js";
import type { BlockInfo } from "../rpc/rpc-client.js";
import type { Stop } from "./types.js";

/** The chain at one block, as far as a settlement depends on it. */
export interface Observation {
  readonly chainId: number;
  /** The vault contract, which has code. */
  readonly contract: LocatedAddress;
  readonly block: BlockInfo;
  readonly round: VaultRound;
}

/**
 * Looks at a vault: with one `eth_call` if the node applies state overrides, so
 * that all of it is of the same moment, else with one request each.
 *
 * @throws VaultError VAULT_WRONG_CHAIN, VAULT_NO_CODE,
 * VAULT_CONTRACT_NOT_CONFIGURED and those of a failed request
 */
export async function observe(
  vault: VaultHost,
  block: number | "latest",
): Promise<Observation> {
  const contract = await vault.addressOf("vault", "settleAll");
  const seen = await observeAtOnce(vault, contract, block);
  if (seen !== undefined) {
    return seen;
  }
  return {
    ...(await locateVault(vault)),
    block: await vault.block(block),
    // The round comes last: nobody can see what happens after it was read.
    round: await vault.read("getLatestRoundInfo", [], { blockTag: block }),
  };
}

/** @throws VaultError VAULT_WRONG_CHAIN, VAULT_NO_CODE, VAULT_CONTRACT_NOT_CONFIGURED */
export async function locateVault(
  vault: VaultHost,
): Promise<Pick<Observation, "chainId" | "contract">> {
  const contract = await vault.addressOf("vault", "settleAll");
  const chainId = await vault.chainId();
  requireConfiguredChain(vault, chainId);
  if (!(await vault.rpc.hasCode(contract.address))) {
    throw noCode("vault", contract, vault.networkName);
  }
  return { chainId, contract };
}

async function observeAtOnce(
  vault: VaultHost,
  contract: LocatedAddress,
  blockTag: number | "latest",
): Promise<Observation | undefined> {
  const context = vault.readContext({ blockTag });
  const call = encodeCall("getLatestRoundInfo", []);
  const factory = await vault.addressOf(call.role, "getLatestRoundInfo");
  const answer = await tryLens(context, [
    // Whatever it answers: it tells whether there is code.
    { target: contract.address, data: "0x" },
    { target: factory.address, data: call.data },
  ]);
  const [code, round] = answer?.entries ?? [];
  if (
    answer === undefined ||
    code === undefined ||
    round === undefined ||
    round.status === "unknown"
  ) {
    return undefined;
  }
  const { chainId, block } = answer;
  const { network } = context.rpc;
  requireConfiguredChain(vault, chainId);
  // settleAll returns nothing, so a call of an address without code would look
  // like a success.
  if (!code.hasCode) {
    throw noCode("vault", contract, network);
  }
  return {
    chainId,
    contract,
    block,
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
    round: decodeAnswer({
      call,
      target: factory,
      network,
      answer: entryAnswer(answer, round),
      hasCode: round.hasCode,
    }) as VaultRound,
  };
}

/**
 * @returns Why a settlement of that round may not leave, or undefined.
 * @throws VaultError if that cannot be found out now
 */
export async function checkRound(
  vault: VaultHost,
  meant: VaultRound,
  ifExpired: boolean,
  at: number | "latest" = "latest",
): Promise<Stop | undefined> {
  const { block, round } = await observe(vault, at);
  if (!isSameRound(round, meant)) {
    const [expected, actual] = [describeRound(meant), describeRound(round)];
    return refusedBy(vaultError("VAULT_ROUND_CHANGED", { expected, actual }));
  }
  if (round.settled) {
    return settledMeanwhile;
  }
  return ifExpired ? notEnded(round, block) : undefined;
}

export function refusedBy(error: VaultError): Stop {
  const { code, message: reason } = error;
  return { status: "refused", code, reason, error };
}

export const settledMeanwhile: Stop = {
  status: "nothing-to-do",
  reason: "The round was settled by somebody else meanwhile.",
};

/** @returns Undefined if the round has ended by the block's clock. */
export function notEnded(
  round: VaultRound,
  { timestamp }: BlockInfo,
): Stop | undefined {
  const reason = `The round has not ended yet: it ends at ${describeTime(round.endTime)}.`;
  return hasEnded(round, timestamp)
    ? undefined
    : { status: "nothing-to-do", reason };
}

/** @throws VaultError VAULT_WRONG_CHAIN */
function requireConfiguredChain(
  { connection, networkName: network }: VaultHost,
  actual: number,
): void {
  const { chainId: expected } = connection.networkConfig;
  if (expected !== undefined && expected !== actual) {
    throw vaultError("VAULT_WRONG_CHAIN", { network, expected, actual });
  }
}
