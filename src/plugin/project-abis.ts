import { ErrorFragment } from "ethers";
import type { ArtifactManager } from "hardhat/types/artifacts";

import { findAmong } from "../client/error-abis.js";
import type { FindErrors } from "../client/error-abis.js";

/**
 * The look-up in the project's artifacts. The first one reads them all, so it is
 * only for what nothing else explains.
 */
export function findInProject(
  artifacts: Pick<
    ArtifactManager,
    "getAllFullyQualifiedNames" | "readArtifact"
  >,
): FindErrors {
  let find: Promise<ReturnType<typeof findAmong>> | undefined;
  return async (selector) => {
    find ??= readErrors(artifacts).then(findAmong);
    return (await find)(selector);
  };
}

async function readErrors(
  artifacts: Parameters<typeof findInProject>[0],
): Promise<readonly ErrorFragment[]> {
  const found = new Map<string, ErrorFragment>();
  const names = [...(await artifacts.getAllFullyQualifiedNames())].toSorted();
  for (const name of names) {
    const { abi } = await artifacts.readArtifact(name);
    for (const entry of abi) {
      const fragment = toErrorFragment(entry);
      if (fragment !== undefined) {
        found.set(fragment.format("full"), fragment);
      }
    }
  }
  return [...found.values()];
}

function toErrorFragment(entry: unknown): ErrorFragment | undefined {
  try {
    return ErrorFragment.from(entry);
  } catch {
    // Another kind of entry, or of another tool, with types that ethers does not
    // know.
    return undefined;
  }
}
