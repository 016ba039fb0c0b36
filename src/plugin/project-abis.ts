import { ErrorFragment } from "ethers";
import type { ArtifactManager } from "hardhat/types/artifacts";

import { indexErrors } from "../client/error-abis.js";
import type { ErrorAbisOf } from "../client/error-abis.js";

/** Finds errors in the project's artifacts; the first call reads them all. */
export function errorAbisInProject(
  artifacts: Pick<
    ArtifactManager,
    "getAllFullyQualifiedNames" | "readArtifact"
  >,
): ErrorAbisOf {
  let find: Promise<ReturnType<typeof indexErrors>> | undefined;
  const readErrors = async (): NonNullable<typeof find> => {
    const errors = new Map<string, ErrorFragment>();
    const names = [...(await artifacts.getAllFullyQualifiedNames())].toSorted();
    for (const name of names) {
      const { abi } = await artifacts.readArtifact(name);
      // ErrorFragment.from takes a function for an error.
      for (const entry of abi.filter(({ type }) => type === "error")) {
        try {
          const error = ErrorFragment.from(entry);
          errors.set(error.format("full"), error);
        } catch {
          // It has types that ethers does not support.
        }
      }
    }
    return indexErrors([...errors.values()]);
  };
  return async (selector) => (await (find ??= readErrors()))(selector);
}
