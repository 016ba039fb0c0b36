import { noCode } from "../client/answer.js";
import { isFailedReading } from "../client/failed-reading.js";
import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import {
  changesBetween,
  compareBalances,
  explainBalances,
  roundOf,
} from "./compare-readings.js";
import { UNKNOWABLE } from "./engine.js";
import type { SimulationParameters } from "./engine.js";
import { httpEngines, runEngines } from "./engines/run-engines.js";
import { findPrice } from "./fees.js";
import { findBlock } from "./next-block.js";
import type { TargetBlock } from "./next-block.js";
import { checkOptions } from "./options.js";
import type { SimulateSettleAllOptions, SimulationRequest } from "./options.js";
import { findRefusal } from "./refusal.js";
import { resolveAddresses } from "./resolved-addresses.js";
import type { KnownContract } from "./resolved-addresses.js";
import type { Simulation } from "./types.js";
import { decodeState, makeWatchList } from "./watch-list.js";

/** A settlement that was simulated, and what else is known of it. */
export interface Simulated {
  readonly simulation: Simulation;
  readonly chainId: number;
  /** Number of the block that it started from. */
  readonly base: number;
  readonly sender: string;
  /** The contracts whose balances were read. */
  readonly contracts: readonly KnownContract[];
  readonly ordersRead: number;
  /** The sender's before, in wei. */
  readonly balance: bigint;
  /** The gas that the limit has to allow; null if nothing was executed. */
  readonly gasNeeded: bigint | null;
}

/** @see HardhatVault.simulateSettleAll */
export async function simulateSettleAll(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
): Promise<Simulated> {
  const request = checkOptions(vault, options);
  const client = vault.withDeadline(options);
  const [sender, next] = await Promise.all([
    request.sender ?? client.defaultSender(),
    findBlock(client, options.blockNumber, options.atTime),
  ]);
  return await simulateSettlement(client, { ...request, sender }, next);
}

/**
 * Simulates one settlement: over HTTP with the first engine that can, in process
 * on the network itself.
 *
 * @throws VaultError VAULT_ENGINE_UNAVAILABLE if none of them can,
 * VAULT_NO_CODE, VAULT_NOT_A_TOKEN, VAULT_ARCHIVE_NODE_NEEDED,
 * VAULT_CONTRACT_NOT_CONFIGURED, what is wrong with an address that is
 * configured, as VAULT_INVALID_ADDRESS, and those of a failed request
 */
export async function simulateSettlement(
  vault: VaultHost,
  request: SimulationRequest,
  next: TargetBlock,
): Promise<Simulated> {
  const client = vault.withDeadline({});
  const { sender, orderIDs = [], gas, hardfork } = request;
  const [addresses, target] = await Promise.all([
    resolveAddresses(client),
    client.addressOf("vault", "settleAll"),
  ]);
  const contracts = addresses.requireKnown();
  const accounts = [sender, ...contracts.map(({ address }) => address)];
  const watched = await makeWatchList(
    client,
    target,
    [...new Set(accounts)],
    request,
  );
  const parameters: SimulationParameters = {
    ...{ vault: client, sender, target, watched, addresses, next },
    ...{ gas, hardfork },
  };
  const engines =
    client.connection.networkConfig.type === "http"
      ? (request.engines ?? httpEngines)
      : (["in-process"] as const);
  const [result, price] = await Promise.all([
    runEngines(parameters, engines),
    request.pricePerGas ?? findPrice(client, next),
  ]).catch((error: unknown) => {
    throw needsArchive(parameters, error);
  });
  const before = decodeState(client, watched, result.before);
  const { engine, block, failed, gasUsed, gasNeeded, transfers } = result;
  const base = block.number - 1;
  if (before.facts.accounts.get(target.address)?.hasCode === false) {
    // A call to it succeeds, which would look like a settlement.
    throw noCode("vault", target, client.networkName, base);
  }
  const ordersRead = [...before.readings].filter(
    ([name, value]) => name.startsWith("orders.") && !isFailedReading(value),
  ).length;
  const known = {
    chainId: before.facts.block.chainId,
    base,
    sender,
    contracts,
    ordersRead,
    balance: before.facts.accounts.get(sender)?.balance ?? 0n,
  };
  if (roundOf(before)?.settled === true) {
    return { ...known, gasNeeded: null, simulation: nothingToDo(engine) };
  }
  const after = decodeState(client, watched, result.after);
  const refusal = await findRefusal(parameters, failed, before, after);
  const fee = {
    account: sender,
    amount: gasUsed * (price ?? 0n),
    paid: result.feePaid,
  };
  const isListWhole =
    transfers === null ||
    explainBalances(transfers, before.balances, after.balances, fee);
  const notes = [
    roundOf(after) === undefined &&
      refusal === null &&
      "Whether the round is settled afterwards cannot be read.",
    ordersRead < orderIDs.length &&
      `Of ${orderIDs.length} orders that were asked about, ${orderIDs.length - ordersRead} could not be read.`,
    failed === undefined &&
      gasNeeded > TRANSACTION_GAS_CAP &&
      `It uses ${gasUsed} gas, for which a limit of ${gasNeeded} may be needed: chains with EIP-7825 (from the hardfork osaka on) allow a transaction ${TRANSACTION_GAS_CAP}. There the contract has to settle in parts; on a chain without that rule it can settle at once.`,
    !isListWhole &&
      "The list of transfers is not whole: balances show that more native currency moves, as when a contract destroys itself.",
    price === undefined &&
      "What a unit of gas costs is not known: no fee is taken off.",
    ...result.notes,
    UNKNOWABLE,
  ];
  return {
    ...known,
    gasNeeded,
    simulation: {
      status:
        failed !== undefined
          ? "reverted"
          : refusal === null
            ? "settled"
            : "not-settled",
      code: refusal?.code ?? null,
      reason: refusal?.reason ?? null,
      engine,
      gasUsed,
      block,
      changes: changesBetween(before.readings, after.readings),
      balances: compareBalances(before.balances, after.balances, fee),
      transfers,
      notes: notes.filter((note) => note !== false),
    },
  };
}

/** A node that knows a block but refuses its state is no archive node. */
function needsArchive(
  { vault, next }: SimulationParameters,
  error: unknown,
): unknown {
  return next.isPast === true && isNodeRefusal(error)
    ? vaultError(
        "VAULT_ARCHIVE_NODE_NEEDED",
        {
          network: vault.networkName,
          block: next.number - 1,
          problem: String(error.details["problem"]),
        },
        error,
      )
    : error;
}

function nothingToDo(engine: Simulation["engine"]): Simulation {
  return {
    status: "nothing-to-do",
    code: null,
    reason: "the round is settled already",
    engine,
    gasUsed: null,
    block: null,
    changes: [],
    balances: [],
    transfers: [],
    notes: [],
  };
}
