import type { LocatedAddress } from "../client/addresses.js";
import { decodeAnswer, noCode } from "../client/answer.js";
import { encodeCall } from "../client/codec.js";
import { tryLens } from "../client/lens/lens.js";
import { entryAnswer } from "../client/lens/lens-answer.js";
import type { VaultReader } from "../client/reader.js";
import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { describeRound, hasEnded, isSameRound } from "../protocol/round.js";
import type { Chain } from "../rpc/node.js";
import { notEnded, refusal, settledMeanwhile } from "./stopped.js";
import type { SettlementStopped } from "./stopped.js";

/** The chain at one block, as far as a settlement depends on it. */
export interface Observation {
  /** @throws VaultError those of a failed request */
  readonly chainId: () => Promise<number>;
  /** Of the block, Unix seconds; undefined where it takes another request. */
  readonly timestamp: number | undefined;
  /** Whether the vault is a contract; undefined likewise. */
  readonly hasCode: boolean | undefined;
  /** @throws VaultError those of reading the round */
  readonly round: () => Promise<VaultRound>;
}

/**
 * Looks at a vault: with one `eth_call` where the node applies state overrides,
 * so that all of it is of the same moment, else with one request each.
 *
 * @param target Address of the vault contract.
 * @throws VaultError those of a failed request
 */
export async function observe(
  vault: VaultReader,
  target: string,
  block: number | "latest",
): Promise<Observation> {
  return (
    (await observeAtOnce(vault, target, block)) ?? {
      chainId: async () => await vault.chainId(),
      timestamp: undefined,
      hasCode: undefined,
      round: async () =>
        await vault.read("getLatestRoundInfo", [], { blockTag: block }),
    }
  );
}

async function observeAtOnce(
  vault: VaultReader,
  target: string,
  block: number | "latest",
): Promise<Observation | undefined> {
  const context = vault.readContext({ blockTag: block });
  const call = encodeCall("getLatestRoundInfo", []);
  const factory = await vault.addressOf(call.role, "getLatestRoundInfo");
  const answer = await tryLens(context, [
    // Whatever it answers: it tells whether there is code.
    { target, data: "0x" },
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
  return {
    chainId: async () => answer.chainId,
    timestamp: answer.block.timestamp,
    hasCode: code.hasCode,
    round: async () =>
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
      decodeAnswer({
        call,
        target: factory,
        network: context.network,
        answer: entryAnswer(answer, round),
        hasCode: round.hasCode,
      }) as VaultRound,
  };
}

/**
 * Whether a settlement may leave, or leave again: same round, not settled yet,
 * and ended if that is asked for. The chain is the one that the transaction names.
 *
 * @returns Why not, or undefined.
 * @throws VaultError if that cannot be found out now
 */
export async function checkRound(
  vault: VaultReader,
  meant: { readonly vault: string; readonly round: VaultRound },
  ifExpired: boolean,
  block: number | "latest" = "latest",
): Promise<SettlementStopped | undefined> {
  const seen = await observe(vault, meant.vault, block);
  const clock = ifExpired
    ? (seen.timestamp ?? (await vault.block(block)).timestamp)
    : undefined;
  // The round comes last: what happens after it was read, nobody can see.
  const round = await seen.round();
  if (!isSameRound(round, meant.round)) {
    return refusal("VAULT_ROUND_CHANGED", {
      expected: describeRound(meant.round),
      actual: describeRound(round),
    });
  }
  if (round.settled) {
    return settledMeanwhile();
  }
  return clock === undefined || hasEnded(round, clock)
    ? undefined
    : notEnded(round);
}

/** @throws VaultError VAULT_WRONG_CHAIN */
export function requireConfiguredChain(vault: VaultHost, actual: number): void {
  const { chainId: expected } = vault.connection.networkConfig;
  if (expected !== undefined && expected !== actual) {
    throw vaultError("VAULT_WRONG_CHAIN", {
      network: vault.networkName,
      expected,
      actual,
    });
  }
}

/**
 * settleAll returns nothing, so a call of an address without code looks like a
 * success: the code is asked for.
 *
 * @throws VaultError VAULT_NO_CODE
 */
export async function requireCode(
  chain: Chain,
  contract: LocatedAddress,
): Promise<void> {
  if (!(await chain.hasCode(contract.address))) {
    throw noCode("vault", contract, chain.network);
  }
}
