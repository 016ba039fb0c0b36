import type { VaultHost } from "../host.js";
import { findRoute } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import { Journal } from "../sending/journal.js";
import type { ChainKind } from "../sending/journal.js";
import type { Observation } from "./observe.js";
import type { ParsedOptions } from "./options.js";
import { resolveSigner } from "../sending/signer.js";
import type { Signer } from "../sending/signer.js";

/** Account, journal and route of a settlement. */
export interface Prepared {
  readonly signer: Signer;
  readonly journal: Journal;
  readonly route: SettlementRoute;
}

/**
 * Finds the signer, the journal and the route of a new settlement.
 *
 * @throws VaultError if there is no signer, an earlier settlement is unfinished, or the
 * guard is not valid
 */
export async function prepare(
  vault: VaultHost,
  {
    observation: { chainId, contract, round },
    chainKind,
  }: { readonly observation: Observation; readonly chainKind: ChainKind },
  { from, ifExpired, partial, tokens = [] }: ParsedOptions,
): Promise<Prepared> {
  const { rpc, connection } = vault;
  const signer = await resolveSigner(rpc, connection.networkConfig, from);
  const journal = await Journal.of(vault, chainId, contract.address, chainKind);
  await journal.refuseUnfinished();
  const route = await findRoute(vault, signer.address, "latest", {
    round,
    mustHaveEnded: ifExpired,
    mustSettle: !partial,
    tokens,
  });
  return { signer, journal, route };
}
