import {
  isFailedReading,
  isNotConfigured,
} from "../../src/client/failed-reading.js";
import type { VaultError } from "../../src/errors.js";
import {
  isStandalone,
  operationEntry,
  readingAt,
  readingsOf,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";
import { nameFlags } from "../parse-options.js";
import type { ShownReading } from "./readings.js";
import type { Style } from "./style.js";
import { wrapText } from "./table.js";

/** The readings of one operation, as `vault status` shows them. */
export interface StatusSection {
  readonly operation: ReadOperationName;
  readonly readings: readonly ShownReading[];
}

const shownOperations = readOperationNames.filter(isStandalone);

/** The fields of everything that is shown. */
export const shownFields = shownOperations.flatMap(
  (operation) => operationEntry(operation).outputs,
);

/** What a snapshot has, operation by operation. */
export function sectionsOf(snapshot: object): readonly StatusSection[] {
  return shownOperations.map((operation) => ({
    operation,
    readings: readingsOf(operation).map(({ path }) => ({
      variant: path[1],
      value: readingAt(snapshot, path),
    })),
  }));
}

/** Why readings failed, those that did. */
export function failuresOf(
  sections: readonly StatusSection[],
): readonly VaultError[] {
  return sections
    .flatMap(({ readings }) => readings)
    .flatMap(({ value }) => (isFailedReading(value) ? value.error : []));
}

/** How many failed, and what to do; nothing if none did. */
export function renderFailures(
  failures: readonly VaultError[],
  style: Style,
): readonly string[] {
  return failures.length === 0
    ? []
    : [
        [
          style.bad(`${failures.length} of the readings failed.`),
          ...remedies(failures).map((remedy) => wrapText(remedy, style)),
        ].join("\n"),
      ];
}

/**
 * What to do. Readings often fail for the same reason, and then one remedy is
 * enough; so it is for contracts that lack an address, which differ by name.
 */
function remedies(failures: readonly VaultError[]): string[] {
  const alike = new Map<string, { fix: string; roles: Set<string> }>();
  for (const failure of failures) {
    const { details } = failure;
    const fix = nameFlags(failure.fix);
    const path = String(details["path"]);
    const role = path.slice(path.lastIndexOf(".") + 1);
    const key = isNotConfigured(failure)
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
