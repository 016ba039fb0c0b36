import { isNotConfigured } from "../src/client/failed-reading.js";
import { takeSnapshots } from "../src/client/snapshot.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { invalidArgument } from "../src/errors.js";
import { operationEntry } from "../src/protocol/index.js";
import type { ArgumentsOf } from "./arguments.js";
import { renderHeading } from "./output/heading.js";
import { renderNotes, renderReadings } from "./output/readings.js";
import {
  failuresOf,
  renderFailures,
  renderSideBySide,
  sectionsOf,
  shownFields,
} from "./output/status-sections.js";
import { parseReadTarget } from "./parse-options.js";
import type { ReadTarget } from "./parse-options.js";
import { readAction } from "./open-vault.js";
import type { TaskReport } from "./run-task.js";

export default readAction(
  (args: ArgumentsOf<"status">) => {
    const target = parseReadTarget(args);
    for (const where of args.all ? (["at", "instance"] as const) : []) {
      if (args[where] !== undefined) {
        throw invalidArgument(
          `--${where}`,
          "it chooses contracts, and --all means all that there are",
        );
      }
    }
    return target;
  },
  async (vault, target, { args: { all, raw } }) =>
    all
      ? await readAllStatuses(vault, target, raw)
      : await readStatus(vault, target, raw),
);

/** Takes a snapshot and reports every reading, also those that failed. */
async function readStatus(
  vault: HardhatVault,
  target: ReadTarget,
  raw: boolean,
): Promise<TaskReport> {
  const { chainId, block, ...readings } = await vault.snapshot(target);
  const envelope = { network: vault.networkName, chainId, block };
  const sections = sectionsOf(readings);
  const failures = failuresOf(sections);
  const context = { ...vault.settings, chainTime: block.timestamp, raw };
  return {
    json: { ...envelope, status: readings },
    ok: failures.length === 0,
    text: (style) =>
      [
        renderHeading("Vault status", envelope, style),
        ...sections.map(
          ({ operation, readings: shown }) =>
            `${style.title(operationEntry(operation).title)}\n${renderReadings(operation, shown, { ...context, ...style })}`,
        ),
        ...renderNotes(shownFields, { ...context, ...style }),
        ...renderFailures(failures, style),
      ].join("\n\n"),
  };
}

/**
 * The same for the network's own contracts and each of its instances, at one
 * block and in one request where the node allows that.
 */
async function readAllStatuses(
  vault: HardhatVault,
  target: ReadTarget,
  raw: boolean,
): Promise<TaskReport> {
  const names = Object.keys(vault.connection.networkConfig.vault.instances);
  const vaults = [vault, ...names.map((name) => vault.instance(name))];
  const { chainId, block, readings } = await takeSnapshots(vaults, target);
  const envelope = { network: vault.networkName, chainId, block };
  const sets = vaults.map(({ instanceName, settings }, index) => {
    const values = readings[index] ?? {};
    const sections = sectionsOf(values);
    return {
      name: instanceName,
      values,
      sections,
      failures: failuresOf(sections),
      context: { ...settings, chainTime: block.timestamp, raw },
    };
  });
  // A network may have contracts in its instances alone.
  const [own, ...instances] = sets;
  const hasOwn =
    names.length === 0 ||
    own === undefined ||
    own.sections.flatMap((section) => section.readings).length !==
      own.failures.length ||
    !own.failures.every(isNotConfigured);
  const shown = hasOwn ? sets : instances;
  return {
    json: {
      ...envelope,
      status: hasOwn ? own?.values : null,
      instances: Object.fromEntries(
        instances.map(({ name = "", values }) => [name, values] as const),
      ),
    },
    ok: shown.every(({ failures }) => failures.length === 0),
    text: (style) =>
      [
        renderHeading("Vault status", envelope, style),
        ...renderSideBySide(vault.networkName, shown, style),
        ...shown.flatMap(({ name, failures }) =>
          renderFailures(failures, style, name ?? vault.networkName),
        ),
      ].join("\n\n"),
  };
}
