import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { CallResult } from "../rpc/calls.js";
import { explainRefusal } from "../settlement-call/outcome.js";
import type { SettlementRoute } from "../settlement-call/route.js";
import type { Simulation } from "./types.js";

interface WithSimulation {
  readonly simulation: Simulation;
}

/**
 * Compares a simulated settlement with a call of it that has the gas and the price of its
 * transaction. If that ends otherwise, the settlement is simulated with them; and if that
 * does not end as the call, the status is that of the call.
 *
 * @param called Undefined if there was no call.
 * @param simulateAgain Simulates with gas and price of the transaction.
 */
export async function confirm<T extends WithSimulation>(
  vault: VaultHost,
  route: SettlementRoute,
  simulated: T,
  called: CallResult | undefined,
  simulateAgain: () => Promise<T>,
): Promise<T> {
  if (called === undefined) {
    return withNote(simulated, UNCONFIRMED);
  }
  const reverted = "reverted" in called ? called.reverted : undefined;
  const isSame = ({ simulation: one }: T): boolean =>
    (one.status === "reverted") === (reverted !== undefined);
  if (isSame(simulated)) {
    return simulated;
  }
  const again = await simulateAgain().catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_ENGINE_UNAVAILABLE"),
  );
  const looks = `Without the transaction's gas price, and with the sender's balance before gas, the outcome would be ${simulated.simulation.status}.`;
  if (again !== undefined && isSame(again)) {
    const { reason } = again.simulation;
    return reason === null
      ? withNote(again, looks)
      : withOutcome(again, { reason: `${reason}. ${looks}` });
  }
  const unknown = { changes: [], balances: [], transfers: null, gasUsed: null };
  if (reverted !== undefined) {
    const { code, reason } = await explainRefusal(vault, reverted, route);
    return withOutcome(simulated, {
      ...{ ...unknown, status: "reverted", transfers: [], code },
      reason: `${reason}. ${looks}`,
    });
  }
  const accepted = `The contract accepts a call with the transaction's gas and price, whose effects are not known. ${looks}`;
  return route.guard?.mustSettle === true
    ? withNote(
        withOutcome(simulated, {
          ...{ ...unknown, status: "settled", code: null, reason: null },
        }),
        accepted,
      )
    : withOutcome(simulated, {
        ...{ ...unknown, status: "not-settled", code: "VAULT_NOT_SETTLED" },
        reason: accepted,
      });
}

const UNCONFIRMED =
  "The outcome with the transaction's gas and price is not known: a contract that reads them can do something else when it is mined.";

function withNote<T extends WithSimulation>(simulated: T, note: string): T {
  const { notes } = simulated.simulation;
  return withOutcome(simulated, {
    notes: [...notes, note],
  });
}

function withOutcome<T extends WithSimulation>(
  simulated: T,
  outcome: Partial<Simulation>,
): T {
  return { ...simulated, simulation: { ...simulated.simulation, ...outcome } };
}
