import { ErrorFragment } from "ethers";
import type { ArtifactManager } from "hardhat/types/artifacts";

import { findAmong } from "../client/error-abis.js";
import type { FindErrors } from "../client/error-abis.js";

/** Finds errors in the project's artifacts; the first call reads them all. */
export function findInProject(
  artifacts: Pick<
    ArtifactManager,
    "getAllFullyQualifiedNames" | "readArtifact"
  >,
): FindErrors {
  let find: Promise<ReturnType<typeof findAmong>> | undefined;
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
    return findAmong([...errors.values()]);
  };
  return async (selector) => (await (find ??= readErrors()))(selector);
}
