import { fallbackTo, vaultError } from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { guardErrors } from "../guard/errors.js";
import { settlerIn } from "../guard/round-guard.js";
import type { GuardedSettlement } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import { scale } from "../protocol/amounts.js";
import { units } from "../protocol/index.js";
import { describeTime } from "../protocol/time.js";
import { getCode } from "../rpc/accounts.js";
import type { BlockId } from "../rpc/block-id.js";
import { decodeArguments } from "../rpc/revert-reason.js";
import type { SettlementRoute } from "./route.js";

export interface FoundGuard {
  readonly address: string;
  /** The only account that may settle through it; the zero address for anyone. */
  readonly settler: string;
}

/**
 * Finds the configured guard, and checks its code.
 *
 * @returns Undefined if none is configured.
 * @throws VaultError VAULT_INVALID_GUARD for an address without code, or with other code
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
  const code = await getCode(vault.rpc, address, block);
  const settler = settlerIn(code);
  if (settler === undefined) {
    throw vaultError("VAULT_INVALID_GUARD", {
      guard: address,
      network: vault.networkName,
      source,
      problem:
        code === "0x"
          ? `there is no contract code${block === "latest" ? "" : ` at block ${block}`}`
          : "the code is that of another contract, or of another version",
    });
  }
  return { address, settler };
}

type GuardTerms = Partial<
  Pick<GuardedSettlement, "round" | "mustHaveEnded" | "mustSettle">
>;

/**
 * Finds the way of a settlement: through the configured guard, else to the vault.
 *
 * @param terms What the guard demands. Default: the round at that block, ended or not, and
 * settled by it.
 * @param guardThere Default: it is looked up.
 */
export async function findRoute(
  vault: VaultHost,
  from: string,
  block: BlockId = "latest",
  { round, mustHaveEnded = false, mustSettle = true }: GuardTerms = {},
  guardThere: Promise<FoundGuard | undefined> = findGuard(vault, block),
): Promise<SettlementRoute> {
  const { address } = await vault.addressOf("vault", "settleAll");
  const found = await guardThere;
  if (found === undefined) {
    return { from, vault: address };
  }
  const factory = await vault.addressOf("vaultFactory", "settleAll");
  const blockTag = typeof block === "number" ? block : undefined;
  const { startTime, strikePrice } =
    round ??
    (await vault
      .getLatestRoundInfo({ blockTag })
      // The guard then reverts as the factory does.
      .catch(
        fallbackTo(
          { startTime: 0n, strikePrice: 0n },
          ({ code }) => code === "VAULT_CALL_REVERTED",
        ),
      ));
  const guard = {
    address: found.address,
    factory: factory.address,
    round: { startTime, strikePrice },
    mustHaveEnded,
    mustSettle,
  };
  return { from, vault: address, guard };
}

/** The reason of a guard to refuse. The code is null if the round is settled already. */
interface GuardRefusal {
  readonly code: VaultErrorCode | null;
  readonly reason: string;
}

/** @returns Undefined if the vault or the factory reverts, not the guard. */
export function explainGuard(
  { networkName: network }: VaultHost,
  { from, vault, guard }: SettlementRoute,
  data: string,
): GuardRefusal | undefined {
  const error = guard === undefined ? undefined : parseGuardError(data);
  if (guard === undefined || error === undefined) {
    return undefined;
  }
  const of = ({ code, shortMessage, fix }: ReturnType<typeof vaultError>) => ({
    code,
    reason: `${shortMessage} ${fix}`,
  });
  switch (error.name) {
    case "RoundChanged":
      return of(
        vaultError("VAULT_ROUND_CHANGED", {
          expected: describeKey(guard.round),
          actual: describeKey(error),
        }),
      );
    case "RoundAlreadySettled":
      return { code: null, reason: "The round is settled already." };
    case "RoundNotEnded": {
      const time = describeTime(error.endTime);
      return of(vaultError("VAULT_ROUND_NOT_ENDED", { time }));
    }
    case "RoundNotSettled": {
      const { factory } = guard;
      const details = { network, contract: vault, factory };
      return of(vaultError("VAULT_WOULD_NOT_SETTLE", details));
    }
    case "NotSettler":
      // A vault that calls the guard again is refused in the same way.
      return error.caller.toLowerCase() === from.toLowerCase()
        ? of(vaultError("VAULT_NOT_SETTLER", { from, guard: guard.address }))
        : undefined;
  }
}

/** Status of a settlement that the guard, or a contract behind it, refuses in the preview. */
export function statusBeforeSending(
  code: VaultErrorCode | null,
): "nothing-to-do" | "refused" | "reverted" {
  switch (code) {
    case null:
    case "VAULT_ROUND_NOT_ENDED":
      return "nothing-to-do";
    case "VAULT_ROUND_CHANGED":
    case "VAULT_WOULD_NOT_SETTLE":
    case "VAULT_NOT_SETTLER":
    case "VAULT_GUARD_KEEPS_TOKENS":
      return "refused";
    default:
      return "reverted";
  }
}

/** The fields by which the guard recognises a round. */
export function describeKey({
  startTime,
  strikePrice,
}: GuardedSettlement["round"]): string {
  return `the round from ${describeTime(startTime)} on with strike price ${scale(strikePrice, units.price.decimals)}`;
}

/** Error of the guard; amounts and times are unscaled. */
type GuardError =
  | {
      readonly name: "RoundChanged";
      readonly startTime: bigint;
      readonly strikePrice: bigint;
    }
  | { readonly name: "RoundNotEnded"; readonly endTime: bigint }
  | { readonly name: "NotSettler"; readonly caller: string }
  | { readonly name: "RoundAlreadySettled" | "RoundNotSettled" };

/** @returns Undefined for what the vault or the factory reverted with. */
function parseGuardError(data: string): GuardError | undefined {
  const fragment = guardErrors.find(({ selector }) =>
    data.toLowerCase().startsWith(selector),
  );
  const values =
    fragment === undefined
      ? undefined
      : decodeArguments(fragment, data)?.values;
  if (fragment === undefined || values === undefined) {
    return undefined;
  }
  const number = (name: string): bigint => BigInt(String(values[name]));
  const { name } = fragment;
  switch (name) {
    case "RoundChanged":
      return {
        name,
        startTime: number("startTime"),
        strikePrice: number("strikePrice"),
      };
    case "RoundNotEnded":
      return { name, endTime: number("endTime") };
    case "NotSettler":
      return { name, caller: String(values["caller"]) };
    case "RoundAlreadySettled":
    case "RoundNotSettled":
      return { name };
    default:
      return undefined;
  }
}
