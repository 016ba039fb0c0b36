import type { VaultHost } from "../host.js";
import { findGuard, findRoute } from "../settlement-call/guarded.js";
import type { SettlementRoute } from "../settlement-call/route.js";
import { Journal, journalChain } from "./journal.js";
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
export interface Prepared {
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
 * @throws VaultError if there is no signer, an earlier settlement is unfinished, or the
 * guard is not valid
 */
export async function prepare(
  vault: VaultHost,
  { chainId, contract, round }: Observation,
  { from, ifExpired, partial, tokens = [] }: ParsedOptions,
  asked: Asked,
): Promise<Prepared> {
  const { rpc, connection } = vault;
  const signer = await (asked.signer ??
    resolveSigner(rpc, connection.networkConfig, from));
  const { address } = contract;
  const journal = await Journal.of(vault, chainId, address, asked.chain);
  await journal.refuseUnfinished();
  const demands = {
    ...{ round, mustHaveEnded: ifExpired, mustSettle: !partial },
    tokens,
  };
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
