// What `vault doctor` checks: the node, the contracts, the journal, and a settlement.

import { ZeroAddress } from "ethers";

import {
  failedReading,
  isFailedReading,
  isNotConfigured,
} from "../client/read-at-block.js";
import {
  fallbackTo,
  refusesSettlement,
  textsForCommandLine,
} from "../errors.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import { PROJECT_FOLDER, findWhyNotWritable } from "../files/project-file.js";
import { escapeUntrusted } from "../foreign-text.js";
import { findGuard, findRoute, namedTokens } from "../guard/call.js";
import type { FoundGuard } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import { formatGasPrice, formatNative } from "../protocol/round.js";
import {
  contractRoleNames,
  contractRoles,
  get,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { getNextBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/chain.js";
import { NO_REASON } from "../rpc/revert-reason.js";
import { parseFeeLimits, requireFeeLimit } from "../sending/fees.js";
import type { JournalEntry } from "../sending/journal.js";
import { resolveSigner, signingKinds } from "../sending/signer.js";
import { maxHeadAge } from "../settlement/current-round.js";
import {
  HOW_TO_REPLACE,
  describeUnfinished,
  findLastEnd,
  findNextRun,
  findUnfinished,
} from "../settlement/next-run.js";
import { trySettlement } from "../settlement/prepare.js";
import { chooseBlock } from "../simulation/simulate.js";

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

/** Failures of the node: nothing is known then of what was to be checked. */
const ofNode: ReadonlySet<VaultErrorCode> = new Set([
  "VAULT_RPC_TIMEOUT",
  "VAULT_NETWORK_UNREACHABLE",
  "VAULT_RPC_ERROR",
]);

/**
 * @param status That of any error but the node's, which always fails.
 * @throws any error that is not one of this package
 */
function findingOf(thrown: unknown, status: Check["status"] = "fail"): Finding {
  const { error } = failedReading(thrown);
  const { shortMessage: detail, fix } = textsForCommandLine(error);
  return { status: ofNode.has(error.code) ? "fail" : status, detail, fix };
}

export function failed(name: string, thrown: unknown): Check {
  return { name, ...findingOf(thrown) };
}

/** @param status That of an examination that throws. */
async function check(
  name: string,
  examination: Promise<Finding>,
  status: Check["status"] = "warn",
): Promise<Check> {
  const found = await examination.catch((error: unknown) =>
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
    { name: "network", ...examineChainId(vault, chainId, isDevelopment) },
    { name: "head", ...examineHead(block, limit, now) },
    ...(await examineContracts(vault, block.number)),
    // Another check names a missing address.
    ...("error" in located
      ? []
      : [await check("journal", examineJournal(vault), "fail")]),
  ];
}

function examineChainId(
  { connection: { networkConfig }, networkName }: VaultHost,
  actual: number,
  isDevelopment: boolean,
): Finding {
  const { chainId: configured } = networkConfig;
  const setting = `networks.${networkName}.chainId`;
  const detail = `chain id ${actual}`;
  if (configured === actual) {
    return ok(`${detail}, as configured`);
  }
  if (configured !== undefined) {
    return fail(
      `${detail}, but ${configured} is configured`,
      `Correct ${setting} or the URL.`,
    );
  }
  return isDevelopment
    ? ok(detail)
    : warn(
        `${detail}; none is configured`,
        `Set ${setting} to it, so that a URL of another chain is refused.`,
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

/** Checks that every contract can be read; those without an address are one check. */
async function examineContracts(
  vault: VaultHost,
  blockTag: number,
): Promise<readonly Check[]> {
  const readings = await vault.snapshot({ blockTag });
  const order = await vault.getOrderInfo(1n, { blockTag }).catch(failedReading);
  const answers = [
    ...standaloneQueries.map(({ role, path }) => ({
      role,
      what: path.join("."),
      answer: get(readings, path),
    })),
    { role: "trading", what: "order 1", answer: order },
  ];
  const checks: Check[] = [];
  const missing = new Map<ContractRole, VaultError>();
  for (const role of contractRoleNames) {
    const { label: name } = contractRoles[role];
    const own = answers.filter((one) => one.role === role);
    const errors = own.flatMap(({ answer }) =>
      isFailedReading(answer) ? answer.error : [],
    );
    const worst = errors.find((error) => !hasReason(error)) ?? errors[0];
    if (worst === undefined) {
      const { address } = await vault.addressOf(role);
      const what = own.map((one) => one.what).join(", ");
      checks.push({ name, ...ok(`${address} answers ${what}`) });
    } else if (isNotConfigured(worst)) {
      missing.set(role, worst);
    } else {
      const status = hasReason(worst) ? "warn" : "fail";
      checks.push({ name, ...findingOf(worst, status) });
    }
  }
  const labels = [...missing.keys()].map((role) => contractRoles[role].label);
  const detail = `no address is configured for ${labels.join(", ")}`;
  const error = missing.get("vault") ?? missing.get("vaultFactory");
  // Somebody who configured some contracts may need no others: a warning.
  const finding =
    error === undefined
      ? ok(`${detail}; settling needs none`)
      : { ...findingOf(error, checks.length === 0 ? "fail" : "warn"), detail };
  return missing.size === 0
    ? checks
    : [...checks, { name: "addresses", ...finding }];
}

/** A revert without a reason is often a sign of a wrong address. */
function hasReason({ code, details }: VaultError): boolean {
  return code === "VAULT_CALL_REVERTED" && details["reason"] !== NO_REASON;
}

/**
 * Fails if no journal can be written; warns of a settlement that is under way, else of the last
 * one as long as its end has a code: the keeper tells of it once.
 */
async function examineJournal(vault: VaultHost): Promise<Finding> {
  const { connection, context, networkName, instanceName } = vault;
  const unfinished = await findUnfinished(vault);
  const last = await findLastEnd(vault);
  const isKept = connection.networkConfig.type === "http";
  const problem = isKept
    ? await findWhyNotWritable(context.config.paths.root)
    : undefined;
  if (problem !== undefined) {
    return fail(
      `it cannot be written to ${PROJECT_FOLDER}/, or to the project's root if there is no such folder: ${problem}`,
      "Make the folder writable for the user who settles (chown): without a journal nothing is sent.",
    );
  }
  if (unfinished === null) {
    return last?.code === undefined
      ? ok("no settlement is under way")
      : warnOfEnd(last);
  }
  const instance =
    instanceName === undefined ? "" : ` --instance ${instanceName}`;
  return warn(
    `a settlement is under way: ${describeUnfinished(unfinished)}`,
    `Finish it: \`npx hardhat vault settle --resume --network ${networkName}${instance}\`. If it stays, ${HOW_TO_REPLACE}`,
  );
}

const ENDS_WARNING = "The next settlement that ends well ends this warning.";

function warnOfEnd({
  status,
  code,
  reason,
  mined,
}: NonNullable<JournalEntry["end"]>): Finding {
  const hash = mined === undefined ? "" : ` (${mined.hash})`;
  const why = escapeUntrusted(`${code}: ${reason ?? "no reason"}`).replace(
    /\.$/u,
    "",
  );
  return warn(
    `the last settlement${hash} ended as ${escapeUntrusted(status)} with ${why}`,
    code === "VAULT_GUARD_KEEPS_TOKENS"
      ? `Name each token of this text, if it names one, in the setting \`tokens\`, so that no more of it stays in the guard. ${ENDS_WARNING}`
      : `Find out what the reason names, and correct it. ${ENDS_WARNING}`,
  );
}

/**
 * Checks the account, and tries a settlement as that account.
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
  const attempt = await tryAtEnd(vault, from).catch(failedReading);
  if ("error" in attempt) {
    return [{ name: "settlement", ...findingOf(attempt.error, "warn") }];
  }
  return [
    { name: "balance", ...examineBalance(attempt) },
    await check("fees", examineFees(vault, attempt)),
    await check("settlement", examineNextRun(vault, attempt)),
    ...(guard === undefined
      ? []
      : [await check("guard", examineGuard(vault, attempt, guard))]),
  ];
}

/** A settlement at the end of the round, or in the next block, tried once for all checks. */
type Attempt = Awaited<ReturnType<typeof tryAtEnd>>;

async function tryAtEnd(vault: VaultHost, from: string) {
  const route = await findRoute(vault, from);
  const limits = parseFeeLimits(vault);
  const rules = { limits, tokens: namedTokens(vault), mustSettle: true };
  // A round that cannot be read has no end.
  const end = chooseBlock(vault, undefined, "end").catch(fallbackTo(undefined));
  const next = (await end) ?? (await getNextBlock(vault.rpc));
  const trial = await trySettlement(vault, route, next, rules);
  return { route, next, rules, trial };
}

/** Supposed gas of a settlement that is refused. */
const SUPPOSED_GAS = 1_000_000n;

function examineBalance({ route, trial }: Attempt): Finding {
  const { balance, price, gas } = trial;
  const maxCost = (gas ?? SUPPOSED_GAS) * price.highest;
  const supposed =
    gas === undefined
      ? `, if it takes ${SUPPOSED_GAS.toLocaleString("en")} gas: its gas is not known, since the contract refuses it now`
      : "";
  const detail = `${formatNative(balance)} in native currency; a settlement may cost ${formatNative(maxCost)}${supposed}`;
  const remedy = `Fund ${route.from}, or settle with another account.`;
  const short = gas === undefined ? warn : fail;
  const finding = balance >= maxCost ? ok(detail) : short(detail, remedy);
  return { ...finding, balance, maxCost };
}

/** Nobody is asked in the night: a limit bounds what a unit of gas may cost. */
async function examineFees(
  vault: VaultHost,
  { trial: { price }, rules: { limits } }: Attempt,
): Promise<Finding> {
  await requireFeeLimit(vault, price, limits);
  const { maxFeePerGas: limit } = limits;
  return ok(
    limit === undefined
      ? "no limit; none is needed here"
      : `a unit of gas may cost ${formatGasPrice(limit.wei)}, and costs ${formatGasPrice(price.current)} now`,
  );
}

/** What keeps every unattended run from settling until somebody acts. */
const lasting: ReadonlySet<VaultErrorCode> = new Set([
  "VAULT_INVALID_JOURNAL",
  "VAULT_REVERTED_BEFORE",
  "VAULT_WOULD_NOT_SETTLE",
  "VAULT_GUARD_REFUSED",
  "VAULT_GUARD_KEEPS_TOKENS",
  "VAULT_TOKENS_NOT_KNOWN",
]);

const SETTLEMENT_FIX =
  "The reason is the contract's: correct what it names, or wait until it is over. It is also possible that the contract has a list of accounts that may settle, without this one: `vault simulate --from` tries another.";

/** Would the next unattended run after the round's end settle? */
async function examineNextRun(
  vault: VaultHost,
  { route: { from }, next, trial }: Attempt,
): Promise<Finding> {
  const { base: block } = next;
  const { round, volume } = await vault.snapshot({ from });
  const unfinished = await findUnfinished(vault).catch(failedReading);
  const { canBeSettled, code, reason, fix } = await findNextRun(vault, from, {
    round,
    volume,
    block,
    at: block.number,
    unfinished,
    trial,
  });
  const as = `settleAll as ${from}`;
  const why = escapeUntrusted(reason ?? "").replace(/\.$/u, "");
  if (canBeSettled === true) {
    return ok(`${as} settles the round, once it has ended`);
  }
  if (code === null) {
    return ok("the round is settled: a settlement cannot be tried now");
  }
  return {
    status: lasting.has(code) || ofNode.has(code) ? "fail" : "warn",
    detail: `${as}: ${why}`,
    // What a guard refuses says what to do.
    fix: fix ?? (code === "VAULT_CALL_REVERTED" ? SETTLEMENT_FIX : null),
  };
}

const GUARD_FIX =
  "Let the vault accept the guard (an allow-list has to name it), deploy one for this account with `npx hardhat vault deploy-guard`, or remove `guard` from the settings.";

/** Do the contracts let the configured guard settle? What else it meets, `settlement` tells. */
async function examineGuard(
  vault: VaultHost,
  { route, next, rules, trial: { stop } }: Attempt,
  { address, settler }: FoundGuard,
): Promise<Finding> {
  const by = `${address}, through which ${settler === ZeroAddress ? "anyone" : settler} may settle`;
  if (stop?.code === "VAULT_NOT_SETTLER") {
    return fail(`${by}; ${route.from} may not`, GUARD_FIX);
  }
  if (stop?.code !== "VAULT_CALL_REVERTED") {
    return ok(by);
  }
  const plain = { from: route.from, vaultAddress: route.vaultAddress };
  const direct = await trySettlement(vault, plain, next, rules);
  const why = escapeUntrusted(stop.reason);
  // If nobody can settle the round, the guard is not at fault.
  return stop.reason === direct.stop?.reason
    ? ok(`${by}; without it, too, a settlement is refused: ${why}`)
    : fail(`${by}; the contracts refuse it as their caller: ${why}`, GUARD_FIX);
}
