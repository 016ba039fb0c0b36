import { ZeroAddress } from "ethers";

import { failedReading } from "../client/read-at-block.js";
import {
  fallbackTo,
  refusesSettlement,
  textsForCommandLine,
} from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { escapeUntrusted } from "../escape.js";
import type { VaultHost } from "../host.js";
import { formatGasPrice, formatNative } from "../protocol/amounts.js";
import { getBalance } from "../rpc/accounts.js";
import { getNextBlock } from "../rpc/blocks.js";
import type { NextBlock } from "../rpc/blocks.js";
import { tryCall } from "../rpc/calls.js";
import { isDevelopmentNode } from "../rpc/chain.js";
import { NO_REASON } from "../rpc/revert-reason.js";
import { requireFeeLimit, resolveFees } from "../sending/fees.js";
import type { GasPrice } from "../sending/fees.js";
import {
  findGuard,
  findRoute,
  namedTokens,
  settlementCall,
} from "../guard/call.js";
import type { FoundGuard } from "../guard/call.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import type { Simulated } from "../simulation/simulate.js";
import { explainRefusal } from "../guard/refusal.js";
import { parseFeeLimits } from "../settlement/options.js";
import {
  findGas,
  lossInGuard,
  trySimulation,
  wouldNotSettle,
} from "../settlement/propose.js";
import { resolveSigner } from "../sending/signer.js";
import { findNextRun, findUnfinished } from "../settlement/next-run.js";
import { check, fail, failed, findingOf, ok, warn } from "./doctor.js";
import type { Check, Finding } from "./doctor.js";

export const signingKinds = {
  local: "a key of the configuration",
  remote: "an account of the node or of a plugin",
  "in-process": "an account of the in-process network",
} as const;

/**
 * Checks the account, and simulates a settlement as that account.
 *
 * @param from The account that would settle. Default: the configured one.
 */
export async function examineSigner(
  vault: VaultHost,
  from?: string,
): Promise<readonly Check[]> {
  const name = "signer";
  const { networkConfig, networkName } = vault.connection;
  const signer = await resolveSigner(vault.rpc, networkConfig, from).catch(
    failedReading,
  );
  if (!("error" in signer)) {
    const { address, kind } = signer;
    return [
      { name, ...ok(`${address}, ${signingKinds[kind]}`) },
      ...(await examineSettlement(vault, address)),
    ];
  }
  if (!refusesSettlement(signer.error)) {
    return [failed(name, signer.error)];
  }
  const fix = `To settle, set networks.${networkName}.accounts; to read, no account is needed.`;
  return [
    { name, ...warn(signer.error.shortMessage, fix) },
    ...(from === undefined ? [] : await examineSettlement(vault, from)),
  ];
}

async function examineSettlement(
  vault: VaultHost,
  from: string,
): Promise<readonly Check[]> {
  const located = await vault.addressOf("vault").catch(failedReading);
  if ("error" in located) {
    return [];
  }
  const guard = await findGuard(vault).catch(failedReading);
  if (guard !== undefined && "error" in guard) {
    return [failed("guard", guard.error)];
  }
  const attempt = await attemptNow(vault, from).catch(failedReading);
  if ("error" in attempt) {
    return [await check("settlement", Promise.reject(attempt.error))];
  }
  return [
    await check("balance", examineBalance(vault, attempt)),
    await check("fees", examineFees(vault, attempt)),
    await check("engine", examineEngine(vault, attempt)),
    await check("settlement", examineNextRun(vault, attempt)),
    ...(guard === undefined
      ? []
      : [await check("guard", examineGuard(vault, attempt, guard))]),
  ];
}

/** A settlement in the next block, simulated once for all checks. */
type Attempt = Awaited<ReturnType<typeof attemptNow>>;

async function attemptNow(vault: VaultHost, from: string) {
  const next = await getNextBlock(vault.rpc);
  const route = await findRoute(vault, from);
  const { networkConfig } = vault.connection;
  const price = await resolveFees(vault.rpc, networkConfig, next);
  const simulated = await trySimulation(vault, from, next, {
    price,
  });
  // A node may refuse the estimate because the balance is too low.
  const gas = await findGas(vault, route, next, simulated).catch(
    fallbackTo(undefined),
  );
  // Refused now, it may succeed at the round's end.
  const atEnd =
    simulated?.simulation.status === "reverted"
      ? await simulateAtEnd(vault, from, next, price)
      : undefined;
  // A simulation that reverts now says nothing of the tokens.
  const isKnown = simulated !== undefined || namedTokens(vault) !== undefined;
  const loss = lossInGuard(vault, route, atEnd ?? simulated, isKnown);
  return { from, route, next, price, simulated, gas, atEnd, loss };
}

/** @returns Undefined if the round has ended or cannot be read, or it does not settle. */
async function simulateAtEnd(
  vault: VaultHost,
  from: string,
  { timestamp }: NextBlock,
  price: GasPrice,
): Promise<Simulated | undefined> {
  const end = await chooseNextBlock(vault, undefined, "end").catch(
    fallbackTo(undefined),
  );
  if (end === undefined || end.timestamp <= timestamp) {
    return undefined;
  }
  const found = await trySimulation(vault, from, end, { price });
  return found?.simulation.status === "settled" ? found : undefined;
}

/** Supposed gas of a settlement that cannot be estimated now. */
const SUPPOSED_GAS = 1_000_000n;

/** Compares the balance with the gas and the fees of a settlement now. */
async function examineBalance(
  { rpc }: VaultHost,
  { from, price, gas: found }: Attempt,
): Promise<Finding> {
  const balance = await getBalance(rpc, from);
  const gas = found !== undefined && "gas" in found ? found.gas : undefined;
  const maxCost = (gas ?? SUPPOSED_GAS) * price.highest;
  const supposed =
    gas === undefined
      ? `, if it takes ${SUPPOSED_GAS.toLocaleString("en")} gas: it cannot be estimated now`
      : "";
  const detail = `${formatNative(balance)} in native currency; a settlement may cost ${formatNative(maxCost)}${supposed}`;
  const remedy = `Fund ${from}, or settle with another account.`;
  const finding =
    balance >= maxCost
      ? ok(detail)
      : (gas === undefined ? warn : fail)(detail, remedy);
  return { ...finding, balance, maxCost };
}

/** Nobody is asked in the night: a limit bounds what a unit of gas may cost. */
async function examineFees(
  vault: VaultHost,
  { price }: Attempt,
): Promise<Finding> {
  const limits = parseFeeLimits(vault);
  await requireFeeLimit(vault, price, limits);
  const { maxFeePerGas: limit } = limits;
  return ok(
    limit === undefined
      ? "no limit; none is needed here"
      : `a unit of gas may cost ${formatGasPrice(limit.wei)}, and costs ${formatGasPrice(price.current)} now`,
  );
}

async function examineEngine(
  { connection, rpc }: VaultHost,
  { simulated }: Attempt,
): Promise<Finding> {
  if (connection.networkConfig.type !== "http") {
    return ok("in-process: the network executes a settlement and undoes it");
  }
  const { engine = "none" } = simulated?.simulation ?? {};
  if (engine === "simulateV1") {
    return ok("simulateV1: one request simulates a settlement");
  }
  const detail = `${engine}: ${engine === "fork" ? "this process simulates a settlement" : "a settlement is called only"}`;
  return (await isDevelopmentNode(rpc))
    ? ok(detail)
    : warn(
        detail,
        "Precompiles and gas rules are those of Hardhat's EVM; a node with eth_simulateV1 has the chain's own.",
      );
}

/** What keeps every unattended run from settling until somebody acts. */
const lasting: ReadonlySet<VaultErrorCode> = new Set([
  "VAULT_INVALID_JOURNAL",
  "VAULT_REVERTED_BEFORE",
  "VAULT_WOULD_NOT_SETTLE",
]);

const SIMULATE_FIX = "`vault simulate --from` shows more.";
const SETTLEMENT_FIX = `If the contract has a list of accounts that may settle, this one has to be on it: choose another with --from. ${SIMULATE_FIX}`;

/** True for a text of the contract, which needs no guess; not for its custom errors. */
function isExplained(reason: string): boolean {
  return (
    !reason.startsWith(NO_REASON) && !/^(?:unknown error |\w+\()/u.test(reason)
  );
}

/** Would the next unattended run settle, now or else at the round's end? */
async function examineNextRun(
  vault: VaultHost,
  attempt: Attempt,
): Promise<Finding> {
  const { from, next, simulated, atEnd, loss } = attempt;
  if (loss !== undefined) {
    return findingOf(loss);
  }
  const { base: block } = next;
  const isHere = vault.connection.networkConfig.type !== "http";
  const { round, volume } = await vault.snapshot({ from });
  const open = await findUnfinished(vault).catch(failedReading);
  const { canBeSettled, code, reason, fix } = await findNextRun(
    vault,
    { address: from, isKnown: true },
    { round, volume, block, at: isHere ? "latest" : block.number, open },
  );
  const as = `settleAll as ${from}`;
  if (canBeSettled === true) {
    // A node without state overrides shows it by a simulation, if at all.
    return simulated?.simulation.status === "not-settled"
      ? findingOf(await wouldNotSettle(vault))
      : ok(`${as} settles the round`);
  }
  if (code === null) {
    return ok("the round is settled: a settlement cannot be tried now");
  }
  const why = escapeUntrusted(reason ?? code);
  if (canBeSettled === null) {
    return warn(why, fix ?? SETTLEMENT_FIX);
  }
  if (fix !== null || code !== "VAULT_CALL_REVERTED") {
    return (lasting.has(code) ? fail : warn)(
      `the next unattended run would not settle as ${from}: ${why}`,
      fix ?? SIMULATE_FIX,
    );
  }
  return atEnd !== undefined
    ? ok(`${as}: ${why.replace(/\.$/u, "")}; it settles the round at its end`)
    : warn(
        `${as}: ${why}`,
        isExplained(reason ?? "") ? SIMULATE_FIX : SETTLEMENT_FIX,
      );
}

const GUARD_FIX =
  'Let the vault accept the guard (an allow-list has to name it), deploy one for this account with `npx hardhat vault deploy-guard`, or remove `guard` from the settings. When a guard fits: "Settling safely" in the documentation.';

/** Checks that the contracts let the configured guard settle. */
async function examineGuard(
  vault: VaultHost,
  attempt: Attempt,
  { address, settler }: FoundGuard,
): Promise<Finding> {
  const { from, route, next, gas, atEnd, loss } = attempt;
  const by = `${address}, through which ${settler === ZeroAddress ? "anyone" : settler} may settle`;
  if (atEnd !== undefined || gas === undefined || !("refusal" in gas)) {
    if (loss !== undefined) {
      return fail(`${by}. ${loss.shortMessage}`, textsForCommandLine(loss).fix);
    }
    const { tokens = [] } = route.guard ?? {};
    const forwards =
      tokens.length === 0 ? "" : ` and forwards ${tokens.join(", ")}`;
    const when = atEnd === undefined ? "" : "at the round's end ";
    return ok(
      `${by}; ${when}a settlement through it succeeds${forwards}. What no event shows, such as a credit in the vault for its caller, would stay in it`,
    );
  }
  const { code, reason } = gas.refusal;
  if (code === null) {
    return ok(`${by}; the round is settled`);
  }
  if (code === "VAULT_NOT_SETTLER") {
    return fail(`${by}; ${from} may not`, GUARD_FIX);
  }
  const plain = { from, vault: route.vault };
  const call = settlementCall(plain);
  const reverted = await tryCall(vault.rpc, call, "latest", next.gasLimit);
  const direct =
    reverted === undefined
      ? undefined
      : await explainRefusal(vault, reverted, plain);
  // If nobody can settle the round now, the guard is not at fault.
  return code === "VAULT_CALL_REVERTED" && reason !== direct?.reason
    ? fail(
        `${by}; the contracts refuse it as their caller: ${escapeUntrusted(reason)}`,
        GUARD_FIX,
      )
    : warn(
        `${by}; a settlement is refused now, also without it: ${escapeUntrusted(reason)}`,
        "Examine it again when the round can be settled.",
      );
}
