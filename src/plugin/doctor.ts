import { failedReading, isNotConfigured } from "../client/read-at-block.js";
import { VaultError, textsForCommandLine } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import {
  contractRoleNames,
  contractRoles,
  get,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/chain.js";
import { NO_REASON } from "../rpc/revert-reason.js";
import { maxHeadAge } from "../settlement/current-round.js";
import { describeUnfinished, findUnfinished } from "../settlement/next-run.js";

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

export type Finding = Omit<Check, "name">;

export function ok(detail: string): Finding {
  return { status: "ok", detail, fix: null };
}

export function warn(detail: string, fix: string): Finding {
  return { status: "warn", detail, fix };
}

export function fail(detail: string, fix: string): Finding {
  return { status: "fail", detail, fix };
}

/** @throws any error that is not one of this package */
export function findingOf(
  thrown: unknown,
  status: Check["status"] = "fail",
): Finding {
  const { error } = failedReading(thrown);
  const { shortMessage: detail, fix } = textsForCommandLine(error);
  return { status, detail, fix };
}

export function failed(name: string, thrown: unknown): Check {
  return { name, ...findingOf(thrown) };
}

/** @param status That of an examination that throws. */
export async function check(
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
