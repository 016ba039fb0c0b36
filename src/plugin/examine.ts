import {
  failedReading,
  isFailedReading,
  isNotConfigured,
} from "../client/failed-reading.js";
import { readOne } from "../client/snapshot.js";
import {
  VaultError,
  fallbackTo,
  refusesSettlement,
  textsForCommandLine,
} from "../errors.js";
import type { VaultHost } from "../host.js";
import {
  contractRoleNames,
  contractRoles,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole, Query } from "../protocol/index.js";
import { formatNative } from "../protocol/amounts.js";
import { NO_REASON } from "../rpc/revert-reason.js";
import type { BlockInfo } from "../rpc/rpc-client.js";
import { findGas, simulate } from "../settlement/preview.js";
import { resolveSigner } from "../settlement/signer.js";
import type { Signer } from "../settlement/signer.js";
import { settlementCall } from "../simulation/engine.js";
import { resolveFees } from "../simulation/fees.js";
import { findBlock } from "../simulation/next-block.js";
import { simulateSettlement } from "../simulation/simulate-settle-all.js";

export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  /** The remedy; null if there is nothing to do. */
  readonly fix: string | null;
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

/** @throws the error if it is not one of this package */
function findingOf(error: unknown, status: Check["status"] = "fail"): Finding {
  if (!VaultError.isVaultError(error)) {
    throw error;
  }
  const { shortMessage: detail, fix } = textsForCommandLine(error);
  return { status, detail, fix };
}

export function failed(name: string, error: unknown): Check {
  return { name, ...findingOf(error) };
}

/** An examination that fails is a warning. */
async function check(
  name: string,
  examination: Promise<Finding>,
): Promise<Check> {
  return await examination.then(
    (finding) => ({ name, ...finding }),
    (error: unknown) => ({ name, ...findingOf(error, "warn") }),
  );
}

/** Chain ids of development nodes, whose clock and chain id need no check. */
const DEVELOPMENT_CHAIN_IDS: ReadonlySet<number> = new Set([1337, 31337]);

const MAX_HEAD_AGE_SECONDS = 300;

export async function examineNode(
  vault: VaultHost,
  { chainId, block }: { chainId: number; block: BlockInfo },
  clock: () => number = Date.now,
): Promise<readonly Check[]> {
  const isDevelopment =
    vault.connection.networkConfig.type !== "http" ||
    DEVELOPMENT_CHAIN_IDS.has(chainId);
  return [
    { name: "network", ...examineChainId(vault, chainId, isDevelopment) },
    { name: "head", ...examineHead(block, isDevelopment, clock()) },
    await check("engine", examineEngine(vault, isDevelopment)),
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

function examineHead(
  { number, timestamp }: BlockInfo,
  isDevelopment: boolean,
  now: number,
): Finding {
  const age = Math.round(now / 1_000) - timestamp;
  const detail = `block ${number}, ${Math.abs(age)} s ${age < 0 ? "ahead of this machine's clock" : "old"}`;
  if (isDevelopment || Math.abs(age) <= MAX_HEAD_AGE_SECONDS) {
    return ok(detail);
  }
  return age > 0
    ? fail(
        detail,
        "Check that the node is synchronised, and this machine's clock.",
      )
    : warn(detail, "Set this machine's clock.");
}

async function examineEngine(
  vault: VaultHost,
  isDevelopment: boolean,
): Promise<Finding> {
  if (vault.connection.networkConfig.type !== "http") {
    return ok("in-process: the network executes a settlement and undoes it");
  }
  const { from: sender } = vault.readContext({});
  const found = await simulateSettlement(
    vault,
    { sender, engines: ["simulateV1"] },
    await findBlock(vault),
  ).catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_ENGINE_UNAVAILABLE"),
  );
  if (found !== undefined) {
    return ok(`${found.simulation.engine}: one request simulates a settlement`);
  }
  const detail = "fork: this process simulates a settlement";
  return isDevelopment
    ? ok(detail)
    : warn(
        detail,
        "`vault simulate` and `vault settle` work, with precompiles and gas rules of Hardhat's EVM; a node with eth_simulateV1 has the chain's own.",
      );
}

/** At least one read for each contract. */
const reads: readonly Query[] = [
  ...standaloneQueries,
  { operation: "getOrderInfo", role: "trading", args: [1], path: ["order 1"] },
];

/** Checks that every contract has an address and can be read. */
export async function examineContracts(
  vault: VaultHost,
  block: number,
): Promise<readonly Check[]> {
  const checks = await Promise.all(
    contractRoleNames.map(async (role) => ({
      name: contractRoles[role].label,
      finding: await examineContract(vault, role, block),
    })),
  );
  // Somebody who configured some contracts may need no others: a warning.
  const noneIsConfigured = checks.every(({ finding }) => "missing" in finding);
  return checks.map(({ name, finding }) => ({
    name,
    ...("missing" in finding
      ? {
          ...findingOf(finding.missing, noneIsConfigured ? "fail" : "warn"),
          detail: "no address is configured",
        }
      : finding),
  }));
}

async function examineContract(
  vault: VaultHost,
  role: ContractRole,
  block: number,
): Promise<Finding | { readonly missing: VaultError }> {
  const located = await vault.addressOf(role).catch(failedReading);
  if ("error" in located) {
    const { error } = located;
    return isNotConfigured(error) ? { missing: error } : findingOf(error);
  }
  const answers = await Promise.all(
    reads
      .filter((read) => read.role === role)
      .map(async (read) => ({
        name: read.path.join("."),
        value: await readOne(vault, read, { blockTag: block }),
      })),
  );
  const failures = answers.flatMap(({ value }) =>
    isFailedReading(value) ? value.error : [],
  );
  const worst = failures.find((error) => !isExplained(error)) ?? failures[0];
  return worst === undefined
    ? ok(
        `${located.address} answers ${answers.map(({ name }) => name).join(", ")}`,
      )
    : findingOf(worst, isExplained(worst) ? "warn" : "fail");
}

/** A revert without a reason is often a sign of a wrong address. */
function isExplained({ code, details }: VaultError): boolean {
  return code === "VAULT_CALL_REVERTED" && details["reason"] !== NO_REASON;
}

/** Supposed gas of a settlement that cannot be estimated now. */
const SUPPOSED_GAS = 1_000_000n;

export const signingKinds = {
  local: "a key of the configuration",
  remote: "an account of the node",
  "in-process": "an account of the in-process network",
} as const;

export async function examineSigner(
  vault: VaultHost,
): Promise<readonly Check[]> {
  const name = "signer";
  const { networkConfig, networkName } = vault.connection;
  let signer: Signer;
  try {
    signer = await resolveSigner(vault.rpc, networkConfig, undefined);
  } catch (error) {
    if (refusesSettlement(error)) {
      const fix = `To settle, set networks.${networkName}.accounts; to read, no account is needed.`;
      return [{ name, ...warn(error.shortMessage, fix) }];
    }
    return [failed(name, error)];
  }
  const { address, kind } = signer;
  return [
    { name, ...ok(`${address}, ${signingKinds[kind]}`) },
    await check("balance", examineBalance(vault, address)),
  ];
}

/** Compares the balance with the gas and the fees of a settlement now. */
async function examineBalance(
  vault: VaultHost,
  from: string,
): Promise<Finding> {
  const { rpc } = vault;
  const next = await findBlock(vault);
  const price = await resolveFees(rpc, vault.connection.networkConfig, next);
  const [balance, found] = await Promise.all([
    rpc.balance(from),
    simulate(vault, from, next)
      .then(async (simulated) => {
        const { address } = await vault.addressOf("vault");
        const call = settlementCall(from, address);
        return await findGas(vault, call, next, simulated);
      })
      // A node may refuse the estimate because the balance is too low.
      .catch(fallbackTo(undefined)),
  ]);
  const gas = typeof found === "bigint" ? found : undefined;
  const cost = (gas ?? SUPPOSED_GAS) * price.highest;
  const detail = `${formatNative(balance)} in native currency; a settlement may cost ${formatNative(cost)}${gas === undefined ? `, if it takes ${SUPPOSED_GAS.toLocaleString("en")} gas: it cannot be estimated now` : ""}`;
  return balance < cost
    ? (gas === undefined ? warn : fail)(
        detail,
        `Fund ${from}, or settle with another account.`,
      )
    : ok(detail);
}
