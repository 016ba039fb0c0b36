import { formatUnits } from "ethers";

import type { LocatedAddress } from "../client/addresses.js";
import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import { hasSelector, readCodeBehind } from "../client/selectors.js";
import type { CodeBehind } from "../client/selectors.js";
import { readOne } from "../client/snapshot.js";
import { VaultError, otherwise } from "../errors.js";
import type { VaultHost } from "../host.js";
import { toJsonValue } from "../json.js";
import {
  contractRoleNames,
  contractRoles,
  groupDigits,
  isReadOperation,
  operationEntry,
  operationNames,
  readingAt,
  standaloneReadings,
  targetsOf,
  wireName,
} from "../protocol/index.js";
import type { ContractRole, Reading, VaultRound } from "../protocol/index.js";
import { describeTime } from "../protocol/time.js";
import { readRound } from "../rehearsal/compare-readings.js";
import type { BlockInfo } from "../rpc/node.js";
import { fail, failed, ok, warn } from "./examination.js";
import type { Check, Finding } from "./examination.js";

/** A round that ended so long ago and is not settled wants a keeper. */
const LATE_SECONDS = 3_600n;
/** Amounts of tokens that no round has: the precision is likely to be wrong. */
const PLAUSIBLE_TOKENS = { least: 1e-6, most: 1e15 } as const;

/** Looks at every contract, and at what they say together. */
export async function examineContracts(
  vault: VaultHost,
  block: BlockInfo,
): Promise<readonly Check[]> {
  // Why it cannot be read, the check of that read tells.
  const round = await readRound(vault, block.number).catch(
    otherwise(undefined),
  );
  const contracts = await Promise.all(
    contractRoleNames.map(
      async (role) => await examineContract(vault, role, block, round),
    ),
  );
  return [
    ...contracts.flat(),
    ...(await examineSnapshot(vault, block)),
    { name: "token precision", ...examinePrecision(vault, round) },
    ...(round === undefined
      ? []
      : [{ name: "round", ...examineRound(round, block) }]),
  ];
}

async function examineContract(
  vault: VaultHost,
  role: ContractRole,
  block: BlockInfo,
  round: VaultRound | undefined,
): Promise<readonly Check[]> {
  const { label } = contractRoles[role];
  let target: LocatedAddress;
  try {
    target = await vault.addressOf(role);
  } catch (error) {
    const isMissing = VaultError.isVaultError(error) && isNotConfigured(error);
    // Half a configuration is a configuration.
    return [
      isMissing
        ? { name: label, ...warn("no address is configured", error.fix) }
        : failed(label, error),
    ];
  }
  const name = `${label}: code`;
  try {
    const behind = await readCodeBehind(
      vault.chain,
      target.address,
      block.number,
    );
    if (behind.size === 0) {
      const found = fail(
        `there is none at ${target.address} (from ${target.source})`,
        `Check that address, and that network ${vault.networkName} is the chain that it is deployed on.`,
      );
      return [{ name, ...found }];
    }
    const reads = await examineReads(vault, role, block, round);
    const functions = examineFunctions(role, behind, reads);
    return [
      { name, ...ok(describeCode(target, behind)) },
      { name: `${label}: functions`, ...functions },
      ...reads,
    ];
  } catch (error) {
    return [failed(name, error)];
  }
}

function describeCode(
  { address }: LocatedAddress,
  { size, proxies }: CodeBehind,
): string {
  return [
    `${size.toLocaleString("en")} bytes at ${address}`,
    ...proxies.map(
      ({ kind, implementation }) => `${kind} proxy of ${implementation}`,
    ),
  ].join(", ");
}

/** Whether the code has every function that is asked of it. */
function examineFunctions(
  role: ContractRole,
  behind: CodeBehind,
  reads: readonly Check[],
): Finding {
  const { label } = contractRoles[role];
  const expected = operationNames.filter((operation) =>
    targetsOf(operation).some((target) => target.role === role),
  );
  const missing = expected.filter(
    (operation) => !hasSelector(behind, operationEntry(operation).selector),
  );
  if (missing.length === 0) {
    return ok(`all ${expected.length} in the code`);
  }
  const names = missing
    .map((operation) => `${wireName(operation)}()`)
    .join(", ");
  // Not every compiler writes selectors so that they can be found.
  const answers = reads.every(({ status }) => status === "ok");
  return answers && missing.every(isReadOperation)
    ? ok(`not found in the code, but answered: ${names}`)
    : behind.isOpen
      ? warn(
          `no ${names} in the code, which passes calls on to a place that is not known`,
          "Check the address if it does not answer.",
        )
      : fail(
          `the code has no ${names}: is it the ${label} contract?`,
          "Check the address and where it comes from.",
        );
}

/** Whether every read of a contract is answered, and decodes. */
async function examineReads(
  vault: VaultHost,
  role: ContractRole,
  { number, timestamp }: BlockInfo,
  round: VaultRound | undefined,
): Promise<readonly Check[]> {
  const terms = {
    maxVolume: round?.maxVolume ?? 1n,
    APY: round?.APY ?? 1n,
    endTime: BigInt(timestamp) + 604_800n,
  };
  const reads: readonly Reading[] = [
    ...standaloneReadings,
    {
      operation: "getOrderInfo",
      role: "trading",
      args: [1],
      path: ["order 1"],
    },
    {
      operation: "calMargins",
      role: "vault",
      args: [terms],
      path: ["margins"],
    },
  ];
  return await Promise.all(
    reads
      .filter((read) => read.role === role)
      .map(async (read) => {
        const name = `${contractRoles[role].label}: ${read.path.join(".")}`;
        try {
          await vault.read(
            read.operation,
            // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table that made this reading also makes the argument types
            read.args as never,
            { blockTag: number },
          );
          return { name, ...ok("answered, as the ABI says") };
        } catch (error) {
          // A defect of ours spoils no other check.
          const isRefused =
            VaultError.isVaultError(error) &&
            error.code === "VAULT_CALL_REVERTED";
          return failed(name, error, isRefused ? "warn" : "fail");
        }
      }),
  );
}

/** Whether what one request reads is what single calls read. */
async function examineSnapshot(
  vault: VaultHost,
  { number }: BlockInfo,
): Promise<readonly Check[]> {
  const name = "snapshot";
  try {
    const snapshot = await vault.snapshot({ blockTag: number });
    const different: string[] = [];
    let compared = 0;
    await Promise.all(
      standaloneReadings.map(async (reading) => {
        const seen = readingAt(snapshot, reading.path);
        const plain = await readOne(vault, reading, { blockTag: number });
        if (isFailedReading(plain) && isNotConfigured(plain.error)) {
          return;
        }
        compared += 1;
        if (toComparable(seen) !== toComparable(plain)) {
          different.push(reading.path.join("."));
        }
      }),
    );
    if (compared === 0) {
      return [];
    }
    const finding =
      different.length === 0
        ? ok(`${compared} readings at once are those of single calls`)
        : warn(
            `read otherwise at once than by single calls: ${different.toSorted().join(", ")}`,
            "The contract asks who calls it: `vault status` and snapshot() call it from an address with code. Trust the single calls.",
          );
    return [{ name, ...finding }];
  } catch (error) {
    return [failed(name, error)];
  }
}

function toComparable(reading: unknown): string {
  return JSON.stringify(
    toJsonValue(isFailedReading(reading) ? reading.error.code : reading),
  );
}

function examinePrecision(
  { connection: { networkName }, settings: { tokenDecimals } }: VaultHost,
  round: VaultRound | undefined,
): Finding {
  if (tokenDecimals === undefined) {
    return warn(
      "not configured: amounts of tokens are shown as raw integers",
      `Set networks.${networkName}.vault.tokenDecimals to the decimals of the vault's token.`,
    );
  }
  if (round === undefined || round.maxVolume === 0n) {
    return ok(`${tokenDecimals} decimals; there is no amount to try it on`);
  }
  const shown = formatUnits(round.maxVolume, tokenDecimals);
  const tokens = Number(shown);
  const detail = `${tokenDecimals} decimals: the round takes ${groupDigits(shown).replace(/\.0$/u, "")} tokens`;
  return tokens < PLAUSIBLE_TOKENS.least || tokens > PLAUSIBLE_TOKENS.most
    ? warn(
        detail,
        `Check networks.${networkName}.vault.tokenDecimals against the token's decimals().`,
      )
    : ok(detail);
}

function examineRound(
  { startTime, endTime, settled }: VaultRound,
  { timestamp }: BlockInfo,
): Finding {
  if (endTime === 0n) {
    return warn("there is none yet", "Wait until the vault has one.");
  }
  const now = BigInt(timestamp);
  if (settled) {
    return ok("settled");
  }
  if (endTime + LATE_SECONDS < now) {
    return warn(
      `ended at ${describeTime(endTime)} and is not settled`,
      "`vault simulate` shows what a settlement would do, `vault settle` does it.",
    );
  }
  return ok(
    startTime > now
      ? `begins at ${describeTime(startTime)}`
      : `${endTime > now ? "ends" : "ended"} at ${describeTime(endTime)}`,
  );
}
