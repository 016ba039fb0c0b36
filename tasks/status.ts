import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { isFailedReading } from "../src/client/failed-reading.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import type { VaultError } from "../src/errors.js";
import {
  isStandalone,
  operationEntry,
  readOperationNames,
  readingAt,
  readingsOf,
} from "../src/protocol/index.js";
import { readVault } from "./open-vault.js";
import { renderHeading } from "./output/heading.js";
import { renderNotes, renderReadings } from "./output/readings.js";
import { parseReadTarget } from "./parse-options.js";
import type { ReadTarget } from "./parse-options.js";
import type { ReadTaskArguments } from "./read.js";
import { runTask } from "./run-task.js";
import type { TaskReport } from "./run-task.js";

const action: NewTaskActionFunction<ReadTaskArguments> = async (args, hre) =>
  await runTask(args, async () => {
    const target = parseReadTarget(args);
    return await readVault(
      hre,
      args,
      async (vault) => await readStatus(vault, { ...target, raw: args.raw }),
      target.timeout,
    );
  });

export default action;

/** Takes a snapshot and reports every reading, also those that failed. */
export async function readStatus(
  vault: HardhatVault,
  { raw, ...target }: ReadTarget & { readonly raw: boolean },
): Promise<TaskReport> {
  const { chainId, block, ...readings } = await vault.snapshot(target);
  const envelope = { network: vault.networkName, chainId, block };
  const sections = readOperationNames.filter(isStandalone).map((operation) => ({
    operation,
    readings: readingsOf(operation).map(({ path }) => ({
      variant: path[1],
      value: readingAt(readings, path),
    })),
  }));
  const failures = sections
    .flatMap(({ readings: shown }) => shown)
    .flatMap(({ value }) => (isFailedReading(value) ? value.error : []));
  const context = {
    ...vault.settings,
    chainTime: block.timestamp,
    raw,
  };
  return {
    json: { ...envelope, status: readings },
    ok: failures.length === 0,
    text: (style) =>
      [
        renderHeading("Vault status", envelope, style),
        ...sections.map(
          ({ operation, readings: shown }) =>
            `${style.title(operationEntry(operation).title)}\n${renderReadings(operation, shown, context, style)}`,
        ),
        ...renderNotes(
          sections.flatMap(
            ({ operation }) => operationEntry(operation).outputs,
          ),
          context,
          style,
        ),
        ...(failures.length === 0
          ? []
          : [
              [
                style.bad(`${failures.length} of the readings failed.`),
                ...remedies(failures),
              ].join("\n"),
            ]),
      ].join("\n\n"),
  };
}

/**
 * What to do. Readings often fail for the same reason, and then one remedy is
 * enough; so it is for contracts that lack an address, which differ by name.
 */
function remedies(failures: readonly VaultError[]): string[] {
  const alike = new Map<string, { fix: string; roles: Set<string> }>();
  for (const { code, fix, details } of failures) {
    const path = String(details["path"]);
    const role = path.slice(path.lastIndexOf(".") + 1);
    const key =
      code === "VAULT_CONTRACT_NOT_CONFIGURED"
        ? fix.replace(path, "").replace(`--at ${role}=`, "")
        : fix;
    const group = alike.get(key) ?? { fix, roles: new Set() };
    alike.set(key, group);
    group.roles.add(role);
  }
  return [...alike.values()].map(({ fix, roles }) => {
    const [, ...others] = roles;
    return others.length === 0
      ? fix
      : `${fix}\nLikewise for ${others.join(", ")}.`;
  });
}
