import type { LocatedAddress } from "../client/addresses.js";
import {
  failedReading,
  isFailedReading,
  isNotConfigured,
} from "../client/failed-reading.js";
import type { FailedReading } from "../client/failed-reading.js";
import { readOne } from "../client/snapshot.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import {
  contractRoleNames,
  contractRoles,
  standaloneQueries,
} from "../protocol/index.js";
import type { ContractRole, Query } from "../protocol/index.js";
import { NO_REASON } from "../rpc/revert-reason.js";
import { findingOf, ok } from "./examination.js";
import type { Check, Finding } from "./examination.js";

/** At least one read of each contract. */
const reads: readonly Query[] = [
  ...standaloneQueries,
  { operation: "getOrderInfo", role: "trading", args: [1], path: ["order 1"] },
];

/** Checks that every contract has an address, and that it answers there. */
export async function examineContracts(
  vault: VaultHost,
  block: number,
): Promise<readonly Check[]> {
  const targets = await Promise.all(
    contractRoleNames.map(
      async (role) =>
        [role, await vault.addressOf(role).catch(failedReading)] as const,
    ),
  );
  // Half a configuration is a configuration.
  const missing = targets.every(([, target]) => isMissing(target))
    ? "fail"
    : "warn";
  return await Promise.all(
    targets.map(async ([role, target]): Promise<Check> => {
      const finding = isMissing(target)
        ? {
            ...findingOf(target.error, missing),
            detail: "no address is configured",
          }
        : isFailedReading(target)
          ? findingOf(target.error)
          : await examineContract(vault, role, target, block);
      return { name: contractRoles[role].label, ...finding };
    }),
  );
}

function isMissing(
  target: LocatedAddress | FailedReading,
): target is FailedReading {
  return isFailedReading(target) && isNotConfigured(target.error);
}

/** A read of an address without code fails, and says so. */
async function examineContract(
  vault: VaultHost,
  role: ContractRole,
  { address }: LocatedAddress,
  block: number,
): Promise<Finding> {
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
  const worst =
    failures.find((error) => !isExplained(error)) ?? failures.find(isExplained);
  return worst === undefined
    ? ok(`${address} answers ${answers.map(({ name }) => name).join(", ")}`)
    : findingOf(worst, isExplained(worst) ? "warn" : "fail");
}

/** A revert without a reason often is that of another contract. */
function isExplained({ code, details }: VaultError): boolean {
  return code === "VAULT_CALL_REVERTED" && details["reason"] !== NO_REASON;
}
