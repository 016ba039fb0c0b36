import { formatUnits } from "ethers";

import type { LocatedAddress } from "../client/addresses.js";
import { isFailedReading } from "../client/failed-reading.js";
import { hasSelector, readCodeBehind } from "../client/selectors.js";
import type { CodeBehind } from "../client/selectors.js";
import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import {
  contractRoleNames,
  contractRoles,
  isReadOperation,
  isStandalone,
  operationEntry,
  operationNames,
  readOperationNames,
  readingAt,
  readingsOf,
  standaloneReadings,
  targetsOf,
  wireName,
} from "../protocol/index.js";
import type {
  ContractRole,
  OperationArguments,
  ReadOperationName,
  Reading,
  VaultRound,
} from "../protocol/index.js";
import { describeTime } from "../protocol/round.js";
import { Chain } from "../rpc/node.js";
import type { BlockInfo } from "../rpc/node.js";
import { fail, failed, ok, warn } from "./examination.js";
import type { Check } from "./examination.js";

/** A round that ended so long ago and is not settled wants a keeper. */
const LATE_SECONDS = 3_600n;
/** Amounts of tokens that no round has: the precision is likely to be wrong. */
const PLAUSIBLE_TOKENS = { least: 1e-6, most: 1e15 } as const;

/** Looks at every contract, and at what they say together. */
export async function examineContracts(
  vault: VaultHost,
  block: BlockInfo,
): Promise<readonly Check[]> {
  const round = await readRound(vault, block);
  const contracts = await Promise.all(
    contractRoleNames.map(
      async (role) => await examineContract(vault, role, block, round),
    ),
  );
  return [
    ...contracts.flat(),
    ...(await examineSnapshot(vault, block)),
    ...examinePrecision(vault, round),
    ...examineRound(round, block),
  ];
}

/** @returns Undefined where there is none, or none to be read. */
async function readRound(
  vault: VaultHost,
  { number }: BlockInfo,
): Promise<VaultRound | undefined> {
  try {
    return await vault.getLatestRoundInfo({ blockTag: number });
  } catch (error) {
    if (VaultError.isVaultError(error)) {
      return undefined;
    }
    throw error;
  }
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
    const isMissing =
      VaultError.isVaultError(error) &&
      error.code === "VAULT_CONTRACT_NOT_CONFIGURED";
    // Half a configuration is a configuration.
    return [
      isMissing
        ? warn(label, "no address is configured", error.fix)
        : failed(label, error),
    ];
  }
  const chain = new Chain(vault.provider, vault.networkName);
  try {
    const behind = await readCodeBehind(chain, target.address, block.number);
    if (behind.size === 0) {
      return [
        fail(
          `${label}: code`,
          `there is none at ${target.address} (from ${target.source})`,
          `Check that address, and that network ${vault.networkName} is the chain that it is deployed on.`,
        ),
      ];
    }
    const reads = await examineReads(vault, role, block, round);
    return [
      ok(`${label}: code`, describeCode(target, behind)),
      examineFunctions(role, behind, reads),
      ...reads,
    ];
  } catch (error) {
    return [failed(`${label}: code`, error)];
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
): Check {
  const { label } = contractRoles[role];
  const name = `${label}: functions`;
  const expected = operationNames.filter((operation) =>
    targetsOf(operation).some((target) => target.role === role),
  );
  const missing = expected.filter(
    (operation) => !hasSelector(behind, operationEntry(operation).selector),
  );
  if (missing.length === 0) {
    return ok(name, `all ${expected.length} in the code`);
  }
  const names = missing
    .map((operation) => `${wireName(operation)}()`)
    .join(", ");
  const detail = `the code has no ${names}: is it the ${label} contract?`;
  // Not every compiler writes selectors so that they can be found.
  const answers = reads.every(({ status }) => status === "ok");
  return answers && missing.every(isReadOperation)
    ? ok(name, `not found in the code, but answered: ${names}`)
    : behind.isOpen
      ? warn(
          name,
          `no ${names} in the code, which passes calls on to a place that is not known`,
          "Check the address if it does not answer.",
        )
      : fail(name, detail, "Check the address and where it comes from.");
}

/** Whether every read of a contract is answered, and decodes. */
async function examineReads(
  vault: VaultHost,
  role: ContractRole,
  { number, timestamp }: BlockInfo,
  round: VaultRound | undefined,
): Promise<readonly Check[]> {
  const options = { blockTag: number };
  const week = BigInt(timestamp) + 604_800n;
  const calls: ReadonlyArray<
    readonly [name: string, read: () => Promise<unknown>]
  > = readOperationNames.flatMap((operation) =>
    isStandalone(operation)
      ? readingsOf(operation)
          .filter((reading) => reading.role === role)
          .map(
            (reading) =>
              [
                reading.path.join("."),
                async () => await readOne(vault, reading, number),
              ] as const,
          )
      : [],
  );
  const chosen: Partial<
    Record<ContractRole, readonly [string, () => Promise<unknown>]>
  > = {
    trading: ["order 1", async () => await vault.getOrderInfo(1, options)],
    vault: [
      "margins",
      async () =>
        await vault.calMargins(
          {
            maxVolume: round?.maxVolume ?? 1n,
            APY: round?.APY ?? 1n,
            endTime: week,
          },
          options,
        ),
    ],
  };
  const mine = chosen[role];
  return await Promise.all(
    [...calls, ...(mine === undefined ? [] : [mine])].map(
      async ([reading, read]) => {
        const name = `${contractRoles[role].label}: ${reading}`;
        try {
          await read();
          return ok(name, "answered, as the ABI says");
        } catch (error) {
          return VaultError.isVaultError(error) &&
            error.code === "VAULT_CALL_REVERTED"
            ? failed(name, error, "warn")
            : failed(name, error);
        }
      },
    ),
  );
}

async function readOne(
  vault: VaultHost,
  { operation, args }: Reading,
  blockTag: number,
): Promise<unknown> {
  return await vault.read(
    operation,
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table's own arguments
    args as OperationArguments<ReadOperationName>,
    { blockTag },
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
        const plain: unknown = await readOne(vault, reading, number).catch(
          (error: unknown) => ({ error }),
        );
        if (isNotConfigured(plain)) {
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
    return [
      different.length === 0
        ? ok(name, `${compared} readings at once are those of single calls`)
        : warn(
            name,
            `read otherwise at once than by single calls: ${different.toSorted().join(", ")}`,
            "The contract asks who calls it: `vault status` and snapshot() call it from an address with code. Trust the single calls.",
          ),
    ];
  } catch (error) {
    return [failed(name, error)];
  }
}

function isNotConfigured(reading: unknown): boolean {
  return (
    isFailedReading(reading) &&
    reading.error.code === "VAULT_CONTRACT_NOT_CONFIGURED"
  );
}

function toComparable(reading: unknown): string {
  return JSON.stringify(
    isFailedReading(reading) ? reading.error.code : reading,
    (_key, value: unknown) =>
      typeof value === "bigint" ? value.toString() : value,
  );
}

function examinePrecision(
  { connection: { networkName }, settings: { tokenDecimals } }: VaultHost,
  round: VaultRound | undefined,
): readonly Check[] {
  const name = "token precision";
  if (tokenDecimals === undefined) {
    return [
      warn(
        name,
        "not configured: amounts of tokens are shown as raw integers",
        `Set networks.${networkName}.vault.tokenDecimals to the decimals of the vault's token.`,
      ),
    ];
  }
  if (round === undefined || round.maxVolume === 0n) {
    return [
      ok(name, `${tokenDecimals} decimals; there is no amount to try it on`),
    ];
  }
  const shown = formatUnits(round.maxVolume, tokenDecimals);
  const tokens = Number(shown);
  const detail = `${tokenDecimals} decimals: the round takes ${shown} tokens`;
  return [
    tokens < PLAUSIBLE_TOKENS.least || tokens > PLAUSIBLE_TOKENS.most
      ? warn(
          name,
          detail,
          `Check networks.${networkName}.vault.tokenDecimals against the token's decimals().`,
        )
      : ok(name, detail),
  ];
}

function examineRound(
  round: VaultRound | undefined,
  { timestamp }: BlockInfo,
): readonly Check[] {
  const name = "round";
  if (round === undefined) {
    return [];
  }
  const { startTime, endTime, settled } = round;
  if (endTime === 0n) {
    return [warn(name, "there is none yet", "Wait until the vault has one.")];
  }
  const now = BigInt(timestamp);
  if (settled) {
    return [ok(name, "settled")];
  }
  if (endTime + LATE_SECONDS < now) {
    return [
      warn(
        name,
        `ended at ${describeTime(endTime)} and is not settled`,
        "`vault simulate` shows what a settlement would do, `vault settle` does it.",
      ),
    ];
  }
  return [
    ok(
      name,
      startTime > now
        ? `begins at ${describeTime(startTime)}`
        : `${endTime > now ? "ends" : "ended"} at ${describeTime(endTime)}`,
    ),
  ];
}
