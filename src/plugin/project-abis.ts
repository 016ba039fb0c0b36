import { ErrorFragment } from "ethers";
import type { ArtifactManager } from "hardhat/types/artifacts";

/**
 * Finds the errors that have a selector in the project's artifacts. Reads every
 * artifact there is, so only for what nothing else explains.
 */
export async function findErrorsInProject(
  artifacts: Pick<
    ArtifactManager,
    "getAllFullyQualifiedNames" | "readArtifact"
  >,
  selector: string,
): Promise<readonly ErrorFragment[]> {
  const found = new Map<string, ErrorFragment>();
  const names = [...(await artifacts.getAllFullyQualifiedNames())].toSorted();
  for (const name of names) {
    const { abi } = await artifacts.readArtifact(name);
    const entries: readonly unknown[] = abi;
    for (const entry of entries) {
      const fragment = toErrorFragment(entry);
      if (fragment?.selector === selector) {
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
