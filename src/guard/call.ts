import { encodeCall } from "../client/codec.js";
import { parseAddress } from "../client/inputs.js";
import { readCall, withArchiveCheck } from "../client/read-at-block.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { settingsPath } from "../host.js";
import type { VaultHost } from "../host.js";
import { scale } from "../protocol/round.js";
import { describeTime, units } from "../protocol/index.js";
import type { Address } from "../protocol/index.js";
import { describeBlock } from "../rpc/blocks.js";
import type { BlockId } from "../rpc/blocks.js";
import { getCode } from "../rpc/chain.js";
import type { CallRequest } from "../rpc/chain.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { encodeGuarded, settlerIn } from "./round-guard.js";
import type { GuardedSettlement } from "./round-guard.js";

/** Gas of a `settleAll` transaction before any code runs. */
export const INTRINSIC_GAS = 21_064n;

/** The way of a settlement: to the vault, or through a guard. */
export interface SettlementRoute {
  /** The account that settles. */
  readonly from: string;
  readonly vaultAddress: string;
  readonly guard?: GuardedSettlement;
}

const SETTLE_ALL = encodeCall("settleAll", []).data;

export function settlementCall(route: SettlementRoute): CallRequest {
  const { from, vaultAddress, guard } = route;
  return guard === undefined
    ? { from, to: vaultAddress, data: SETTLE_ALL }
    : { from, to: guard.address, data: encodeGuarded(vaultAddress, guard) };
}

/** Beginning of the code that an EIP-7702 authorization sets. */
const DELEGATION = "0xef0100";

export const OTHER_ORIGIN =
  "The sender has code, so another account sends the transaction: a contract that asks for that one (tx.origin) can do something else then.";

/**
 * True for a contract, which can send no transaction itself; code of an account with a key
 * only delegates. False if the node does not return the code.
 */
export async function isCalledOnly(
  rpc: RpcClient,
  account: string,
  block: BlockId = "latest",
): Promise<boolean> {
  const code = await getCode(rpc, account, block).catch(
    fallbackTo("0x", ({ kind }) => kind === "rpc"),
  );
  return code !== "0x" && !code.startsWith(DELEGATION);
}

export interface FoundGuard {
  readonly address: Address;
  /** The only account that may settle through it; the zero address for anyone. */
  readonly settler: string;
}

/**
 * Finds the configured guard, and checks its code.
 *
 * @returns Undefined if none is configured.
 * @throws VaultError VAULT_INVALID_GUARD for an address without code, or with other code,
 * VAULT_ARCHIVE_NODE_NEEDED
 */
export async function findGuard(
  vault: VaultHost,
  block: BlockId = "latest",
): Promise<FoundGuard | undefined> {
  const located = await vault.guardAddress();
  if (located === undefined) {
    return undefined;
  }
  const { address, source } = located;
  const code = await withArchiveCheck(
    vault.rpc,
    block,
    async (at) => await getCode(vault.rpc, address, at),
  );
  const settler = settlerIn(code);
  if (settler === undefined) {
    throw vaultError("VAULT_INVALID_GUARD", {
      guard: address,
      network: vault.networkName,
      source,
      problem:
        code === "0x"
          ? `there is no contract code${block === "latest" ? "" : ` at block ${describeBlock(block)}`}`
          : "the code is that of another contract, or of another version",
    });
  }
  return { address, settler };
}

/** What a guard demands, or undefined for the default. */
type GuardTerms = {
  readonly [Term in "round" | "mustHaveEnded" | "mustSettle" | "tokens"]?:
    | GuardedSettlement[Term]
    | undefined;
};

/**
 * Finds the way of a settlement: through the configured guard, else to the vault.
 *
 * @param terms Default: the round at that block, ended or not, and settled by it.
 */
export async function findRoute(
  vault: VaultHost,
  from: string,
  block: BlockId = "latest",
  terms: GuardTerms = {},
): Promise<SettlementRoute> {
  const { address } = await vault.addressOf("vault", "settleAll");
  const found = await findGuard(vault, block);
  if (found === undefined) {
    return { from, vaultAddress: address };
  }
  const factory = await vault.addressOf("vaultFactory", "settleAll");
  const context = { ...vault.readContext(), block };
  const call = { ...encodeCall("getLatestRoundInfo", []), ...factory };
  // The decoder follows the table entry that makes the type.
  const { startTime, strikePrice } = (terms.round ??
    (await readCall(context, call))) as GuardedSettlement["round"];
  const guard = {
    address: found.address,
    factory: factory.address,
    round: { startTime, strikePrice },
    mustHaveEnded: terms.mustHaveEnded ?? false,
    mustSettle: terms.mustSettle ?? true,
    tokens: terms.tokens ?? namedTokens(vault) ?? [],
  };
  return { from, vaultAddress: address, guard };
}

/**
 * The tokens that a guard forwards: those that are given, else those of the settings.
 *
 * @returns Undefined if neither names any.
 */
export function namedTokens(
  vault: VaultHost,
  given?: readonly string[],
): readonly Address[] | undefined {
  return given === undefined
    ? vault.settings.tokens?.map((token) =>
        parseAddress(token, tokensSetting(vault)),
      )
    : given.map((token) => parseAddress(token, "tokens"));
}

function tokensSetting({ networkName, instanceName }: VaultHost): string {
  return `${settingsPath(networkName, instanceName)}.tokens`;
}

/** The error for tokens that stay in the guard, with the line that names them. */
export function keepsTokens(
  vault: VaultHost,
  guard: GuardedSettlement,
  kept: readonly Address[],
): VaultError {
  const all = [...guard.tokens, ...kept];
  return vaultError("VAULT_GUARD_KEEPS_TOKENS", {
    guard: guard.address,
    tokens: kept.join(", "),
    setting: tokensSetting(vault),
    list: `[${all.map((token) => `"${token}"`).join(", ")}]`,
    option: all.join(","),
  });
}

/** The fields by which the guard recognises a round. */
export function describeKey({
  startTime,
  strikePrice,
}: GuardedSettlement["round"]): string {
  return `the round from ${describeTime(startTime)} on with strike price ${scale(strikePrice, units.price.decimals)}`;
}
