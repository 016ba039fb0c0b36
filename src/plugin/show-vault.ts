import { inspect } from "node:util";

/** The names that tell vaults apart. */
export interface ShownVault {
  readonly networkName: string;
  readonly instanceName?: string | undefined;
}

/** Shows a vault on one line, as `console.log` prints it. */
export function showVault({ networkName, instanceName }: ShownVault): string {
  const shown = {
    networkName,
    ...(instanceName !== undefined && { instanceName }),
  };
  return `HardhatVault ${inspect(shown, { breakLength: Infinity })}`;
}
