import { ZeroAddress } from "ethers";

import { failedReading } from "../client/read-at-block.js";
import { fallbackTo, hasErrorCode, refusesSettlement } from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { escapeUntrusted } from "../escape.js";
import { findGuard, findRoute, namedTokens } from "../guard/call.js";
import type { FoundGuard } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import { formatGasPrice, formatNative } from "../protocol/round.js";
import { getNextBlock } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/chain.js";
import { requireFeeLimit } from "../sending/fees.js";
import { resolveSigner } from "../sending/signer.js";
import { findNextRun, findUnfinished } from "../settlement/next-run.js";
import { parseFeeLimits } from "../settlement/options.js";
import { trySettlement } from "../settlement/prepare.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import { check, fail, failed, findingOf, ok, warn } from "./doctor.js";
import type { Check, Finding } from "./doctor.js";

export const signingKinds = {
  local: "a key of the configuration",
  remote: "an account of the node or of a plugin",
  "in-process": "an account of the in-process network",
} as const;

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
  const attempt = await attemptNow(vault, from).catch(failedReading);
  if ("error" in attempt) {
    return [{ name: "settlement", ...findingOf(attempt.error, "warn") }];
  }
  return [
    { name: "balance", ...examineBalance(attempt) },
    await check("fees", examineFees(vault, attempt)),
    await check("engine", examineEngine(vault, attempt)),
    await check("settlement", examineNextRun(vault, attempt)),
    ...(guard === undefined
      ? []
      : [await check("guard", examineGuard(vault, attempt, guard))]),
  ];
}

/** A settlement in the next block, tried once for all checks. */
type Attempt = Awaited<ReturnType<typeof attemptNow>>;

async function attemptNow(vault: VaultHost, from: string) {
  const next = await getNextBlock(vault.rpc);
  const route = await findRoute(vault, from);
  const rules = {
    limits: parseFeeLimits(vault),
    tokens: namedTokens(vault),
    mustSettle: true,
  };
  const now = await trySettlement(vault, route, next, rules);
  const attempt = { route, next, rules, now };
  // Refused now, it may succeed at the round's end.
  const end =
    now.gas === undefined
      ? await chooseNextBlock(vault, undefined, "end").catch(
          fallbackTo(undefined),
        )
      : undefined;
  if (end === undefined || end.timestamp <= next.timestamp) {
    return { ...attempt, atEnd: undefined };
  }
  const tried = await trySettlement(vault, route, end, rules);
  const { status } = tried.simulated?.simulation ?? {};
  return { ...attempt, atEnd: status === "settled" ? tried : undefined };
}

/** Supposed gas of a settlement that cannot be tried now. */
const SUPPOSED_GAS = 1_000_000n;

function examineBalance({ route, now, atEnd }: Attempt): Finding {
  const { balance, price, gas } = atEnd ?? now;
  const maxCost = (gas ?? SUPPOSED_GAS) * price.highest;
  const supposed =
    gas === undefined
      ? `, if it takes ${SUPPOSED_GAS.toLocaleString("en")} gas: it is refused now`
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
  { now: { price }, rules: { limits } }: Attempt,
): Promise<Finding> {
  await requireFeeLimit(vault, price, limits);
  const { maxFeePerGas: limit } = limits;
  return ok(
    limit === undefined
      ? "no limit; none is needed here"
      : `a unit of gas may cost ${formatGasPrice(limit.wei)}, and costs ${formatGasPrice(price.current)} now`,
  );
}

const engines = {
  simulateV1: "one request simulates a settlement",
  "in-process": "the network executes a settlement and undoes it",
  fork: "this process simulates a settlement",
  none: "a settlement is called only",
} as const;

async function examineEngine(
  { rpc }: VaultHost,
  { now }: Attempt,
): Promise<Finding> {
  const { engine = "none" } = now.simulated?.simulation ?? {};
  const detail = `${engine}: ${engines[engine]}`;
  const isOwn = engine === "simulateV1" || engine === "in-process";
  return isOwn || (await isDevelopmentNode(rpc))
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
  "VAULT_GUARD_KEEPS_TOKENS",
  "VAULT_TOKENS_NOT_KNOWN",
]);

const SETTLEMENT_FIX =
  "If the contract has a list of accounts that may settle, this one has to be on it: choose another with --from. `vault simulate --from` shows more.";

/** Would the next unattended run settle, now or else at the round's end? */
async function examineNextRun(
  vault: VaultHost,
  { route: { from }, next, now, atEnd }: Attempt,
): Promise<Finding> {
  const { base: block } = next;
  const { round, volume } = await vault.snapshot({ from });
  const open = await findUnfinished(vault).catch(failedReading);
  const { canBeSettled, code, reason, fix } = await findNextRun(
    vault,
    { address: from, isKnown: true },
    { round, volume, block, at: block.number, open, trial: now },
  );
  const as = `settleAll as ${from}`;
  const why = escapeUntrusted(reason ?? "").replace(/\.$/u, "");
  if (canBeSettled === true) {
    return ok(`${as} settles the round`);
  }
  if (code === null) {
    return ok("the round is settled: a settlement cannot be tried now");
  }
  if (code === "VAULT_CALL_REVERTED" && atEnd !== undefined) {
    const { error } = atEnd.stop ?? {};
    return error === undefined
      ? ok(`${as}: ${why}; it settles the round at its end`)
      : findingOf(error);
  }
  return (lasting.has(code) ? fail : warn)(
    `${as}: ${why}`,
    fix ?? SETTLEMENT_FIX,
  );
}

const GUARD_FIX =
  'Let the vault accept the guard (an allow-list has to name it), deploy one for this account with `npx hardhat vault deploy-guard`, or remove `guard` from the settings. When a guard fits: "Settling safely" in the documentation.';

/** Checks that the contracts let the configured guard settle. */
async function examineGuard(
  vault: VaultHost,
  { route, next, rules, now, atEnd }: Attempt,
  { address, settler }: FoundGuard,
): Promise<Finding> {
  const by = `${address}, through which ${settler === ZeroAddress ? "anyone" : settler} may settle`;
  const { gas, stop } = atEnd ?? now;
  const { error, code, status, reason = "" } = stop ?? {};
  if (
    hasErrorCode(error, "VAULT_GUARD_KEEPS_TOKENS", "VAULT_TOKENS_NOT_KNOWN")
  ) {
    return findingOf(error);
  }
  if (gas !== undefined || status === "nothing-to-do") {
    const when = atEnd === undefined ? "" : " at the round's end";
    return ok(
      gas === undefined
        ? `${by}; the round is settled`
        : `${by}; a settlement through it succeeds${when}`,
    );
  }
  if (code === "VAULT_NOT_SETTLER") {
    return fail(`${by}; ${route.from} may not`, GUARD_FIX);
  }
  const plain = { from: route.from, vault: route.vault };
  const direct = await trySettlement(vault, plain, next, rules);
  const why = escapeUntrusted(reason);
  // If nobody can settle the round now, the guard is not at fault.
  return code === "VAULT_CALL_REVERTED" && reason !== direct.stop?.reason
    ? fail(`${by}; the contracts refuse it as their caller: ${why}`, GUARD_FIX)
    : warn(
        `${by}; a settlement is refused now, also without it: ${why}`,
        "Examine it again when the round can be settled.",
      );
}
