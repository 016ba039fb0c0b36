import {
  failedReading,
  isFailedReading,
  isNotConfigured,
} from "../client/failed-reading.js";
import { encodeCall } from "../client/codec.js";
import { readOne } from "../client/snapshot.js";
import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import {
  contractRoleNames,
  contractRoles,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole, Query } from "../protocol/index.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/development-node.js";
import { NO_REASON } from "../rpc/revert-reason.js";
import { maxHeadAge } from "../settlement/head-age.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import { simulate } from "../simulation/simulate.js";
import { check, fail, findingOf, ok, warn } from "./check.js";
import type { Check, Finding } from "./check.js";

/** Seconds that a block may be ahead of this machine's clock. */
const MAX_AHEAD = 300;

export async function examineNode(
  vault: VaultHost,
  { chainId, block }: { chainId: number; block: BlockInfo },
  clock: () => number = Date.now,
): Promise<readonly Check[]> {
  // Its clock and its chain id need no check.
  const isDevelopment = await isDevelopmentNode(vault.rpc);
  const limit = isDevelopment ? undefined : maxHeadAge(vault);
  return [
    { name: "network", ...examineChainId(vault, chainId, isDevelopment) },
    { name: "head", ...examineHead(block, limit, clock()) },
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

/** @param limit Highest age in seconds; undefined if it is not checked. */
function examineHead(
  { number, timestamp }: BlockInfo,
  limit: number | undefined,
  now: number,
): Finding {
  const age = Math.round(now / 1_000) - timestamp;
  const detail = `block ${number}, ${Math.abs(age)} s ${age < 0 ? "ahead of this machine's clock" : "old"}`;
  if (limit === undefined) {
    return ok(detail);
  }
  if (age > limit) {
    return fail(
      `${detail}; maxHeadAge is ${limit} s`,
      "Check that the node is synchronised, and this machine's clock.",
    );
  }
  return -age > MAX_AHEAD
    ? warn(detail, "Set this machine's clock.")
    : ok(detail);
}

async function examineEngine(
  vault: VaultHost,
  isDevelopment: boolean,
): Promise<Finding> {
  if (vault.connection.networkConfig.type !== "http") {
    return ok("in-process: the network executes a settlement and undoes it");
  }
  const { from: sender } = vault.readContext({});
  const found = await simulate(
    vault,
    { sender, engine: "simulateV1" },
    await chooseNextBlock(vault),
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
      role,
      name: contractRoles[role].label,
      finding: await examineContract(vault, role, block),
    })),
  );
  const missing = checks.flatMap(({ role, finding }) =>
    "missing" in finding ? role : [],
  );
  const canSettle = !rolesOfSettlements.some((role) => missing.includes(role));
  // Somebody who configured some contracts may need no others: a warning.
  const status = missing.length === checks.length ? "fail" : "warn";
  return checks.map(({ name, finding }) => ({
    name,
    ...(!("missing" in finding)
      ? finding
      : canSettle
        ? ok("no address is configured; settling needs none")
        : {
            ...findingOf(finding.missing, status),
            detail: "no address is configured",
          }),
  }));
}

const rolesOfSettlements: readonly ContractRole[] = ["vault", "vaultFactory"];

/** Warns of each instance that settles one vault by the round of another's factory. */
export function examineInstances({
  connection,
  instanceName,
}: VaultHost): readonly Check[] {
  const { networkConfig, networkName } = connection;
  const { contracts: inherited, instances } = networkConfig.vault;
  return Object.entries(instances)
    .filter(
      ([name, { contracts }]) =>
        (instanceName ?? name) === name &&
        contracts.vault !== undefined &&
        contracts.vaultFactory === undefined &&
        inherited.vaultFactory !== undefined,
    )
    .map(([name]) => ({
      name: `instance ${name}`,
      ...warn(
        "it names its own vault, and has the network's vaultFactory: a settlement would go by the rounds of another vault",
        `Set networks.${networkName}.vault.instances.${name}.contracts.vaultFactory, also if it is the same.`,
      ),
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
  const context = vault.readContext({ blockTag: block });
  const answers = await Promise.all(
    reads
      .filter((read) => read.role === role)
      .map(async (read) => ({
        name: read.path.join("."),
        value: await readOne(context, {
          call: encodeCall(read.operation, read.args),
          target: located,
        }),
      })),
  );
  const failures = answers.flatMap(({ value }) =>
    isFailedReading(value) ? value.error : [],
  );
  const worst = failures.find((error) => !isExplained(error)) ?? failures[0];
  const names = answers.map(({ name }) => name).join(", ");
  const isZero = (value: unknown): boolean =>
    Object.values(asRecord(value)).every((one) => one === 0n || one === false);
  if (
    worst === undefined &&
    role === "vaultFactory" &&
    answers.every(({ value }) => isZero(value))
  ) {
    return warn(
      `${located.address} answers ${names} with zeros only`,
      `There is no round yet, or this is not the vault's factory: check ${located.source}.`,
    );
  }
  return worst === undefined
    ? ok(`${located.address} answers ${names}`)
    : findingOf(worst, isExplained(worst) ? "warn" : "fail");
}

/** A revert without a reason is often a sign of a wrong address. */
function isExplained({ code, details }: VaultError): boolean {
  return code === "VAULT_CALL_REVERTED" && details["reason"] !== NO_REASON;
}
