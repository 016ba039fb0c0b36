import { z } from "zod";

import { PROJECT_FOLDER, listProjectFiles } from "../project-file.js";
import { byRole } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { recordedAddress, recordedCount } from "../recorded-values.js";
import type { Schema } from "../recorded-values.js";

export {
  readProjectFile,
  reasonOf,
  writeProjectFile,
} from "../project-file.js";

/** A deployment by `vault deploy-mocks` on a network that persists. */
// Spelled out, not inferred: our declarations would import zod's, which every
// project that has this package would then have to load and check.
export interface MockDeployment {
  readonly version: 1;
  readonly chainId: number;
  /** Several local nodes share a chain id; their genesis tells them apart. */
  readonly genesisHash: string;
  readonly block: number;
  readonly scenario: string;
  readonly instance?: string | undefined;
  readonly contracts: Readonly<Record<ContractRole, string>>;
}

export const deploymentSchema: Schema<MockDeployment> = z
  .object({
    version: z.literal(1),
    chainId: recordedCount,
    genesisHash: z.string(),
    block: recordedCount,
    scenario: z.string(),
    instance: z.string().optional(),
    contracts: z.object(byRole(() => recordedAddress)).strict(),
  })
  .strict();

/** The file of a chain's mocks, relative to the project's root. */
export function deploymentFile({
  chainId,
  genesisHash,
  instance,
}: Pick<MockDeployment, "chainId" | "genesisHash" | "instance">): string {
  const genesis = /^0x([0-9a-f]{8})/iu.exec(genesisHash)?.[1] ?? "unknown";
  return `${PROJECT_FOLDER}/${chainId}-${genesis.toLowerCase()}${suffixOf(instance)}`;
}

function suffixOf(instance: string | undefined): string {
  return instance === undefined ? ".json" : `-${instance}.json`;
}

/** Lists the files of mocks on chains with any id. */
export async function listDeployments(
  projectRoot: string,
  instance: string | undefined,
): Promise<ReadonlyArray<{ readonly file: string; readonly chain: string }>> {
  const names = await listProjectFiles(projectRoot);
  return names.toSorted().flatMap((name) => {
    const [, chain, suffix] = /^([0-9]+)-[0-9a-z]+([-.].*)$/u.exec(name) ?? [];
    return chain === undefined || suffix !== suffixOf(instance)
      ? []
      : [{ file: `${PROJECT_FOLDER}/${name}`, chain }];
  });
}
