import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { getNonce } from "../rpc/accounts.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { findGuard, findRoute } from "../settlement-call/guarded.js";
import type { SettlementRoute } from "../settlement-call/route.js";
import { Journal, describeTransaction, journalChain } from "./journal.js";
import type { JournalChain } from "./journal.js";
import type { Observation } from "./observe.js";
import type { ParsedOptions } from "./options.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";

/** Answers that are asked for before they are needed. */
interface Asked {
  readonly chain: Promise<JournalChain>;
  readonly guard: ReturnType<typeof findGuard>;
  /** Undefined for a configured key: it needs no answer, but may need a person. */
  readonly signer: Promise<Signer> | undefined;
}

/** Account, journal and route of a settlement. */
interface Prepared {
  readonly signer: Signer;
  readonly journal: Journal;
  readonly route: SettlementRoute;
}

/**
 * Asks at the same time as the first requests for answers that are needed after them. A
 * failure counts where the answer is used.
 */
export function askAhead(vault: VaultHost, { from }: ParsedOptions): Asked {
  const { networkConfig } = vault.connection;
  const hasKeys =
    networkConfig.type === "http" && networkConfig.accounts !== "remote";
  const chain = journalChain(vault);
  const guard = findGuard(vault);
  const signer = hasKeys
    ? undefined
    : resolveSigner(vault.rpc, networkConfig, from);
  for (const answer of [chain, guard, signer]) {
    answer?.catch(() => undefined);
  }
  return { chain, guard, signer };
}

/**
 * Finds the signer, the journal and the route of a new settlement.
 *
 * @throws VaultError if there is no signer, or an earlier settlement is unfinished or may
 * still arrive, or the guard is not valid
 */
export async function prepare(
  vault: VaultHost,
  { chainId, contract, round }: Observation,
  { from, ifExpired, partial }: ParsedOptions,
  asked: Asked,
): Promise<Prepared> {
  const { rpc, connection } = vault;
  const signer = await (asked.signer ??
    resolveSigner(rpc, connection.networkConfig, from));
  const { address } = contract;
  const journal = await Journal.of(vault, chainId, address, asked.chain);
  await journal.refuseUnfinished();
  await refuseOtherAccount(vault.rpc, journal, signer);
  const demands = { round, mustHaveEnded: ifExpired, mustSettle: !partial };
  const { guard } = asked;
  const route = await findRoute(
    vault,
    signer.address,
    "latest",
    demands,
    guard,
  );
  return { signer, journal, route };
}

/**
 * Refuses another account while an earlier settlement may still arrive: it would settle
 * the next round.
 *
 * @throws VaultError VAULT_ACCOUNT_MUST_WAIT, VAULT_INVALID_JOURNAL
 */
export async function refuseOtherAccount(
  rpc: RpcClient,
  journal: Journal,
  { address }: Signer,
): Promise<void> {
  const last = await journal.readStillArriving();
  if (last === undefined) {
    return;
  }
  const [{ from, nonce }] = last.transactions;
  if (
    from.toLowerCase() !== address.toLowerCase() &&
    (await getNonce(rpc, from, "latest")) <= nonce
  ) {
    const transaction = describeTransaction(last);
    throw vaultError("VAULT_ACCOUNT_MUST_WAIT", { from, nonce, transaction });
  }
}
