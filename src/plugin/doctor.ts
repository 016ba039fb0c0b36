import { ZeroAddress } from "ethers";

import { failedReading, isNotConfigured } from "../client/failed-reading.js";
import {
  VaultError,
  fallbackTo,
  refusesSettlement,
  textsForCommandLine,
} from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { escapeUntrusted } from "../escape.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import { formatGasPrice, formatNative } from "../protocol/amounts.js";
import {
  contractRoleNames,
  contractRoles,
  get,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { getBalance } from "../rpc/accounts.js";
import type { BlockInfo } from "../rpc/blocks.js";
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
import type { ChosenNextBlock } from "../simulation/next-block.js";
import type { Simulated } from "../simulation/simulate.js";
import { explainRefusal } from "../guard/outcome.js";
import { maxHeadAge } from "../settlement/current-round.js";
import { parseFeeLimits } from "../settlement/options.js";
import {
  findGas,
  lossInGuard,
  trySimulation,
  wouldNotSettle,
} from "../settlement/propose.js";
import { resolveSigner } from "../sending/signer.js";
import {
  describeUnfinished,
  findNextRun,
  findUnfinished,
} from "../settlement/next-run.js";

export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  /** The remedy; null if there is nothing to do. */
  readonly fix: string | null;
  /** Of the check of that name: wei that the account has. */
  readonly balance?: bigint;
  /** Of the check `balance`: wei that a settlement may cost. */
  readonly maxCost?: bigint;
}

type Finding = Omit<Check, "name">;

function ok(detail: string): Finding {
  return { status: "ok", detail, fix: null };
}

function warn(detail: string, fix: string): Finding {
  return { status: "warn", detail, fix };
}

function fail(detail: string, fix: string): Finding {
  return { status: "fail", detail, fix };
}

/** @throws any error that is not one of this package */
function findingOf(thrown: unknown, status: Check["status"] = "fail"): Finding {
  const { error } = failedReading(thrown);
  const { shortMessage: detail, fix } = textsForCommandLine(error);
  return { status, detail, fix };
}

export function failed(name: string, thrown: unknown): Check {
  return { name, ...findingOf(thrown) };
}

/** @param status That of an examination that throws. */
async function check(
  name: string,
  examination: Finding | Promise<Finding>,
  status: Check["status"] = "warn",
): Promise<Check> {
  const found = await Promise.resolve(examination).catch((error: unknown) =>
    findingOf(error, status),
  );
  return { name, ...found };
}

/** Checks what needs no account: the node, the contracts and the journal. */
export async function examineVault(
  vault: VaultHost,
  { chainId, block }: { chainId: number; block: BlockInfo },
  now: number = Date.now(),
): Promise<readonly Check[]> {
  const isDevelopment = await isDevelopmentNode(vault.rpc);
  // The clock of a development node is that of its tests.
  const limit = isDevelopment ? undefined : maxHeadAge(vault);
  const located = await vault.addressOf("vault").catch(failedReading);
  return [
    await check("network", examineChainId(vault, chainId, isDevelopment)),
    await check("head", examineHead(block, limit, now)),
    ...(await examineContracts(vault, block.number)),
    // Another check names a missing address.
    ...("error" in located
      ? []
      : [await check("journal", examineJournal(vault), "fail")]),
  ];
}

function examineChainId(
  { connection }: VaultHost,
  actual: number,
  isDevelopment: boolean,
): Finding {
  const { networkConfig, networkName } = connection;
  const { chainId: configured } = networkConfig;
  if (configured === actual) {
    return ok(`chain id ${actual}, as configured`);
  }
  if (configured !== undefined) {
    return fail(
      `chain id ${actual}, but ${configured} is configured`,
      `Correct networks.${networkName}.chainId or the URL.`,
    );
  }
  return isDevelopment
    ? ok(`chain id ${actual}`)
    : warn(
        `chain id ${actual}; none is configured`,
        `Set networks.${networkName}.chainId to it, so that a URL of another chain is refused.`,
      );
}

/** @param limit Highest age in seconds; undefined if it is not checked. */
function examineHead(
  { number, timestamp }: BlockInfo,
  limit: number | undefined,
  now: number,
): Finding {
  const age = Math.round(now / 1_000) - timestamp;
  const detail = `block ${number}, ${Math.abs(age)} s ${age < 0 ? "ahead of this machine's clock" : "old"}`;
  return limit === undefined || Math.abs(age) <= limit
    ? ok(detail)
    : (age < 0 ? warn : fail)(
        `${detail}; maxHeadAge is ${limit} s`,
        "Check that the node is synchronised, and this machine's clock.",
      );
}

/** The contracts that a settlement needs. */
const settlingRoles: readonly ContractRole[] = ["vault", "vaultFactory"];

/** Checks that every contract can be read; those without an address are one check. */
async function examineContracts(
  vault: VaultHost,
  blockTag: number,
): Promise<readonly Check[]> {
  const readings = {
    ...(await vault.snapshot({ blockTag })),
    order: await vault.getOrderInfo(1n, { blockTag }).catch(failedReading),
  };
  const checks: Check[] = [];
  const missing: Array<{ role: ContractRole; error: VaultError }> = [];
  for (const role of contractRoleNames) {
    const { label: name } = contractRoles[role];
    const located = await vault.addressOf(role).catch(failedReading);
    if (!("error" in located)) {
      const answers = new Map(
        standaloneQueries
          .filter((query) => query.role === role)
          .map(({ path }) => [path.join("."), get(readings, path)]),
      );
      if (role === "trading") {
        answers.set("order 1", readings.order);
      }
      checks.push({ name, ...examineContract(role, located, answers) });
    } else if (isNotConfigured(located.error)) {
      missing.push({ role, error: located.error });
    } else {
      checks.push({ name, ...findingOf(located.error) });
    }
  }
  const [first] = missing;
  if (first === undefined) {
    return checks;
  }
  const names = missing.map(({ role }) => contractRoles[role].label).join(", ");
  const detail = `no address is configured for ${names}`;
  // Somebody who configured some contracts may need no others: a warning.
  const finding = missing.some(({ role }) => settlingRoles.includes(role))
    ? findingOf(first.error, checks.length === 0 ? "fail" : "warn")
    : ok("");
  const settles = finding.fix === null ? "; settling needs none" : "";
  return [
    ...checks,
    { name: "addresses", ...finding, detail: detail + settles },
  ];
}

function examineContract(
  role: ContractRole,
  { address, source }: { readonly address: string; readonly source: string },
  answers: ReadonlyMap<string, unknown>,
): Finding {
  const failures = [...answers.values()].flatMap((answer) => {
    const { error } = asRecord(answer);
    return VaultError.isVaultError(error) ? error : [];
  });
  // A revert without a reason is often a sign of a wrong address.
  const hasReason = ({ code, details }: VaultError): boolean =>
    code === "VAULT_CALL_REVERTED" && details["reason"] !== NO_REASON;
  const worst = failures.find((error) => !hasReason(error)) ?? failures[0];
  if (worst !== undefined) {
    return findingOf(worst, hasReason(worst) ? "warn" : "fail");
  }
  const names = [...answers.keys()].join(", ");
  const values = [...answers.values()].flatMap((answer) =>
    typeof answer === "object" ? Object.values(asRecord(answer)) : answer,
  );
  return role === "vaultFactory" &&
    values.every((one) => one === 0n || one === false)
    ? warn(
        `${address} answers ${names} with zeros only`,
        `There is no round yet, or this is not the vault's factory: check ${source}.`,
      )
    : ok(`${address} answers ${names}`);
}

/** A transaction is mined in fewer, if its fee is not too low. */
const USUAL_SECONDS = 300;

export const HOW_TO_REPLACE =
  "raise its fee with --bump, or give it up with --cancel.";

/** Warns of a settlement that is under way. */
async function examineJournal(vault: VaultHost): Promise<Finding> {
  const { networkName, instanceName } = vault;
  const open = await findUnfinished(vault);
  const instance =
    instanceName === undefined ? "" : ` --instance ${instanceName}`;
  const isOld =
    open !== null && Date.now() / 1_000 - open.since > USUAL_SECONDS;
  return open === null
    ? ok("no settlement is under way")
    : warn(
        `a settlement is under way: ${describeUnfinished(open)}`,
        `Finish it: \`npx hardhat vault settle --resume --network ${networkName}${instance}\`. If it stays, ${isOld ? "its fee is probably too low: " : ""}${HOW_TO_REPLACE}`,
      );
}

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
  const next = await chooseNextBlock(vault);
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
  return { from, route, next, price, simulated, gas, atEnd };
}

/** @returns Undefined if the round has ended or cannot be read, or it does not settle. */
async function simulateAtEnd(
  vault: VaultHost,
  from: string,
  { timestamp }: ChosenNextBlock,
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

/** What keeps an unattended run from settling through the guard, now or at the round's end. */
function findLoss(
  vault: VaultHost,
  { route, simulated, atEnd }: Attempt,
): VaultError | undefined {
  // A simulation that reverts now says nothing of the tokens.
  const isKnown = simulated !== undefined || namedTokens(vault) !== undefined;
  return lossInGuard(vault, route, atEnd ?? simulated, isKnown);
}

/** Would the next unattended run settle, now or else at the round's end? */
async function examineNextRun(
  vault: VaultHost,
  attempt: Attempt,
): Promise<Finding> {
  const { from, next, simulated, atEnd } = attempt;
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
  const loss = findLoss(vault, attempt);
  if (loss !== undefined) {
    return findingOf(loss);
  }
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
  const { from, route, next, gas, atEnd } = attempt;
  const by = `${address}, through which ${settler === ZeroAddress ? "anyone" : settler} may settle`;
  if (atEnd !== undefined || gas === undefined || !("refusal" in gas)) {
    const loss = findLoss(vault, attempt);
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
