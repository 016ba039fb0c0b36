import { solcPackages } from "./solc.js";
import type { SolcVersion } from "./solc.js";

/** Settings that a project of others may compile the contracts with. */
export interface CompilerSettings {
  readonly version: SolcVersion;
  readonly optimizer: boolean;
  readonly viaIR: boolean;
}

/**
 * Every combination that the contracts have to compile with: all but viaIR
 * without the optimizer on 0.8.20, which keeps every intermediate value on the
 * stack.
 */
export const everyCompilerSetting: readonly CompilerSettings[] = Object.keys(
  solcPackages,
)
  .filter(isSolcVersion)
  .flatMap((version) =>
    [false, true].flatMap((optimizer) =>
      [false, true].map((viaIR) => ({ version, optimizer, viaIR })),
    ),
  )
  .filter(
    ({ version, optimizer, viaIR }) =>
      version !== "0.8.20" || optimizer || !viaIR,
  );

/** What the EVM takes as one contract's code (EIP-170). */
export const EIP_170_BYTES = 24_576;

/** As in a test's title. */
export function describeSettings(settings: CompilerSettings): string {
  const { version, optimizer, viaIR } = settings;
  return `solc ${version}, optimizer ${optimizer}, viaIR ${viaIR}`;
}

function isSolcVersion(version: string): version is SolcVersion {
  return Object.hasOwn(solcPackages, version);
}
