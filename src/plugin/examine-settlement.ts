import { postJsonRequest } from "@nomicfoundation/hardhat-utils/request";
import { ZeroAddress } from "ethers";
import type { HttpNetworkConfig } from "hardhat/types/config";

import { failedReading, isNotConfigured } from "../client/failed-reading.js";
import {
  VaultError,
  fallbackTo,
  refusesSettlement,
  vaultError,
} from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import { formatNative } from "../protocol/amounts.js";
import { getBalance } from "../rpc/accounts.js";
import { tryCall } from "../rpc/calls.js";
import {
  describeUnfinished,
  findUnfinished,
} from "../settlement/unfinished-settlement.js";
import { findNextRun } from "../settlement/can-be-settled.js";
import { parseFeeLimits } from "../settlement/options.js";
import { findGas, trySimulation } from "../settlement/propose.js";
import { resolveSigner } from "../sending/signer.js";
import type { Signer } from "../sending/signer.js";
import { requireFeeLimit, resolveFees } from "../sending/fees.js";
import type { GasPrice } from "../sending/fees.js";
import {
  settlementCall,
  findGuard,
  findRoute,
  keepsTokens,
} from "../guard/call.js";
import type { SettlementRoute, FoundGuard } from "../guard/call.js";
import { explainRefusal } from "../guard/outcome.js";
import type { Refusal } from "../guard/outcome.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import type { ChosenNextBlock } from "../simulation/next-block.js";
import type { Simulated } from "../simulation/simulate.js";
import { escapeUntrusted } from "../escape.js";
import { asRecord, listOf } from "../json.js";
import { check, fail, failed, findingOf, ok, warn } from "./check.js";
import type { Check, Finding } from "./check.js";

/** Supposed gas of a settlement that cannot be estimated now. */
const SUPPOSED_GAS = 1_000_000n;

export const signingKinds = {
  local: "a key of the configuration",
  remote: "an account of the node",
  "in-process": "an account of the in-process network",
} as const;

/** @param from The account that would settle. Default: the configured one. */
export async function examineSigner(
  vault: VaultHost,
  from?: string,
): Promise<readonly Check[]> {
  const name = "signer";
  const { networkConfig, networkName } = vault.connection;
  let signer: Signer;
  try {
    signer = await resolveSigner(vault.rpc, networkConfig, from);
  } catch (error) {
    if (refusesSettlement(error)) {
      const fix = `To settle, set networks.${networkName}.accounts; to read, no account is needed.`;
      return [
        { name, ...warn(error.shortMessage, fix) },
        ...(from === undefined
          ? []
          : await examineSettlement(vault, attemptNow(vault, from))),
      ];
    }
    return [failed(name, error)];
  }
  const { address } = signer;
  const attempt = attemptNow(vault, address);
  return [
    { name, ...(await describeSigner(vault, signer)) },
    await check("balance", examineBalance(vault, attempt)),
    await check("fees", examineFees(vault, attempt)),
    ...(await examineSettlement(vault, attempt)),
    ...(await examineGuard(vault, attempt)),
  ];
}

/** Tells an account of the node from one that a plugin adds, as for a hardware wallet. */
async function describeSigner(
  vault: VaultHost,
  { address, kind }: Signer,
): Promise<Finding> {
  const { networkConfig } = vault.connection;
  const accounts =
    kind === "remote" && networkConfig.type === "http"
      ? await accountsOfNode(networkConfig).catch(() => undefined)
      : undefined;
  return ok(
    accounts === undefined || accounts.includes(address.toLowerCase())
      ? `${address}, ${signingKinds[kind]}`
      : `${address}, an account of a plugin, which signs only when it is asked to: that is not tried here`,
  );
}

/** Asks the node past Hardhat's plugins. @returns Lower case; none if the node refuses. */
async function accountsOfNode({
  url,
  httpHeaders: extraHeaders,
}: HttpNetworkConfig): Promise<readonly string[]> {
  const body = { jsonrpc: "2.0", id: 1, method: "eth_accounts", params: [] };
  const answer = await postJsonRequest(await url.getUrl(), body, {
    extraHeaders,
  });
  const { result } = asRecord(await answer.body.json());
  return listOf(result).map((account) => String(account).toLowerCase());
}

/** A settlement in the next block, which is simulated once for all checks. */
interface Attempt {
  readonly from: string;
  readonly next: Promise<ChosenNextBlock>;
  readonly price: Promise<GasPrice>;
  /** Undefined if no engine works on the node. */
  readonly simulated: Promise<Simulated | undefined>;
}

function attemptNow(vault: VaultHost, from: string): Attempt {
  const next = chooseNextBlock(vault);
  const price = next.then(
    async (block) =>
      await resolveFees(vault.rpc, vault.connection.networkConfig, block),
  );
  const simulated = next.then(
    async (block) => await trySimulation(vault, from, block, { price }),
  );
  for (const answer of [price, simulated]) {
    // A failure counts in the checks that need the answer.
    answer.catch(() => undefined);
  }
  return { from, next, price, simulated };
}

/** What keeps every unattended run from settling until somebody acts. */
const lasting: ReadonlySet<VaultErrorCode> = new Set([
  "VAULT_INVALID_JOURNAL",
  "VAULT_REVERTED_BEFORE",
  "VAULT_WOULD_NOT_SETTLE",
]);

/** Would the next unattended run settle, now or else at the round's end? */
async function examineSettlement(
  vault: VaultHost,
  attempt: Attempt,
): Promise<readonly Check[]> {
  const located = await vault.addressOf("vault").catch(failedReading);
  return "error" in located
    ? []
    : [await check("settlement", examineNextRun(vault, attempt))];
}

async function examineNextRun(
  vault: VaultHost,
  attempt: Attempt,
): Promise<Finding> {
  const { from } = attempt;
  const { latest: block, timestamp } = await attempt.next;
  const isHere = vault.connection.networkConfig.type !== "http";
  const [{ round, volume }, open] = await Promise.all([
    vault.snapshot({ from }),
    findUnfinished(vault).catch(failedReading),
  ]);
  const { canBeSettled, code, reason, fix } = await findNextRun(
    vault,
    { address: from, isKnown: true },
    { round, volume, block, at: isHere ? "latest" : block.number, open },
  );
  const as = `settleAll as ${from}`;
  if (canBeSettled === true) {
    // A node without state overrides shows it by a simulation, if at all.
    const simulated = await attempt.simulated;
    if (simulated?.simulation.status !== "not-settled") {
      return ok(`${as} settles the round`);
    }
    const [contract, factory] = await Promise.all([
      vault.addressOf("vault"),
      vault.addressOf("vaultFactory"),
    ]);
    return findingOf(
      vaultError("VAULT_WOULD_NOT_SETTLE", {
        network: vault.networkName,
        contract: contract.source,
        factory: factory.source,
      }),
    );
  }
  if (code === null) {
    return ok("the round is settled: a settlement cannot be tried now");
  }
  if (canBeSettled === null) {
    return warn(escapeUntrusted(reason ?? code), fix ?? SETTLEMENT_FIX);
  }
  const why = `the next unattended run would not settle as ${from}: ${escapeUntrusted(reason ?? code)}`;
  if (fix !== null || code !== "VAULT_CALL_REVERTED") {
    const remedy = fix ?? "`vault simulate --from` shows more.";
    return (lasting.has(code) ? fail : warn)(why, remedy);
  }
  const atEnd = await chooseNextBlock(vault, undefined, "end")
    .then(async (end) =>
      end.timestamp > timestamp
        ? await trySimulation(vault, from, end, { price: attempt.price })
        : undefined,
    )
    .catch(fallbackTo(undefined, ({ kind }) => kind !== "bug"));
  const refusal = `${as}: ${escapeUntrusted(reason ?? code)}`;
  return atEnd?.simulation.status === "settled"
    ? ok(`${refusal.replace(/\.$/u, "")}; it settles the round at its end`)
    : warn(refusal, SETTLEMENT_FIX);
}

/** Nobody is asked in the night: a limit bounds what a unit of gas may cost. */
async function examineFees(
  vault: VaultHost,
  { price }: Attempt,
): Promise<Finding> {
  const limits = parseFeeLimits(vault, {});
  await requireFeeLimit(vault, await price, limits);
  const { maxFeePerGas: limit } = limits;
  return ok(
    limit === undefined
      ? "no limit; none is needed here"
      : `a unit of gas may cost ${limit.wei} wei, and costs ${(await price).current} wei now`,
  );
}

const SETTLEMENT_FIX =
  "If the contract has a list of accounts that may settle, this one has to be on it: choose another with --from. `vault simulate --from` shows more.";

/** Warns of a settlement that is under way. */
export async function examineJournal(
  vault: VaultHost,
): Promise<readonly Check[]> {
  const name = "journal";
  try {
    const open = await findUnfinished(vault);
    return [
      {
        name,
        ...(open === null
          ? ok("no settlement is under way")
          : warn(
              `a settlement is under way: ${describeUnfinished(open)}`,
              `Finish it: \`npx hardhat vault settle --resume --network ${vault.networkName}${vault.instanceName === undefined ? "" : ` --instance ${vault.instanceName}`}\`.`,
            )),
      },
    ];
  } catch (error) {
    // The contracts' checks name a missing address.
    return VaultError.isVaultError(error) && isNotConfigured(error)
      ? []
      : [failed(name, error)];
  }
}

/** Checks the configured guard's code, and that contracts let it settle. */
async function examineGuard(
  vault: VaultHost,
  attempt: Attempt,
): Promise<readonly Check[]> {
  const name = "guard";
  try {
    const found = await findGuard(vault);
    return found === undefined
      ? []
      : [{ name, ...(await tryGuard(vault, attempt, found)) }];
  } catch (error) {
    return [failed(name, error)];
  }
}

async function tryGuard(
  vault: VaultHost,
  { from, next, simulated }: Attempt,
  { address, settler }: FoundGuard,
): Promise<Finding> {
  const route = await findRoute(vault, from);
  const { gasLimit } = await next;
  const tryWay = async (way: SettlementRoute): Promise<Refusal | undefined> => {
    const call = settlementCall(way);
    const reverted = await tryCall(vault.rpc, call, "latest", gasLimit);
    return reverted === undefined
      ? undefined
      : await explainRefusal(vault, reverted, way);
  };
  const [guarded, direct] = await Promise.all([
    tryWay(route),
    tryWay({ from, vault: route.vault }),
  ]);
  const by = `${address}, through which ${settler === ZeroAddress ? "anyone" : settler} may settle`;
  if (guarded === undefined) {
    const { kept = [] } = (await simulated) ?? {};
    const { tokens = [] } = route.guard ?? {};
    if (route.guard !== undefined && kept.length > 0) {
      const { shortMessage, fix } = keepsTokens(vault, route.guard, kept);
      return fail(`${by}. ${shortMessage}`, fix);
    }
    return ok(
      `${by}; a settlement through it succeeds${tokens.length === 0 ? "" : ` and forwards ${tokens.join(", ")}`}. What no event shows, such as a credit in the vault for its caller, would stay in it`,
    );
  }
  const { code, reason } = guarded;
  if (code === null) {
    return ok(`${by}; the round is settled`);
  }
  if (code === "VAULT_NOT_SETTLER") {
    return fail(`${by}; ${from} may not`, GUARD_FIX);
  }
  // If nobody can settle the round now, the guard is not at fault.
  return code === "VAULT_CALL_REVERTED" && reason !== direct?.reason
    ? fail(
        `${by}; the contracts refuse it as their caller: ${reason}`,
        GUARD_FIX,
      )
    : warn(
        `${by}; a settlement is refused now, also without it: ${reason}`,
        "Examine it again when the round can be settled.",
      );
}

const GUARD_FIX =
  "Let the vault accept the guard (an allow-list has to name it), deploy one for this account with `npx hardhat vault deploy-guard`, or remove `guard` from the settings. When a guard fits: docs/settling-safely.md.";

/** Compares the balance with the gas and the fees of a settlement now. */
async function examineBalance(
  vault: VaultHost,
  attempt: Attempt,
): Promise<Finding & Pick<Check, "balance" | "maxCost">> {
  const { rpc } = vault;
  const { from } = attempt;
  const next = await attempt.next;
  const price = await attempt.price;
  const [balance, found] = await Promise.all([
    getBalance(rpc, from),
    attempt.simulated
      .then(async (simulated) => {
        const route = await findRoute(vault, from);
        return await findGas(vault, route, next, simulated);
      })
      // A node may refuse the estimate because the balance is too low.
      .catch(fallbackTo(undefined)),
  ]);
  const gas = found !== undefined && "gas" in found ? found.gas : undefined;
  const cost = (gas ?? SUPPOSED_GAS) * price.highest;
  const detail = `${formatNative(balance)} in native currency; a settlement may cost ${formatNative(cost)}${gas === undefined ? `, if it takes ${SUPPOSED_GAS.toLocaleString("en")} gas: it cannot be estimated now` : ""}`;
  const finding =
    balance < cost
      ? (gas === undefined ? warn : fail)(
          detail,
          `Fund ${from}, or settle with another account.`,
        )
      : ok(detail);
  return { ...finding, balance, maxCost: cost };
}
