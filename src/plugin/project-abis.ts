import { ErrorFragment, Fragment, FunctionFragment } from "ethers";
import type { ArtifactManager } from "hardhat/types/artifacts";

/** A function or an error of the project's own contracts. */
export interface ProjectFragment {
  readonly fragment: ErrorFragment | FunctionFragment;
  /** The contracts that have it, each as `path.sol:Name`. */
  readonly definedIn: readonly string[];
}

/**
 * Finds what has a selector in the project's artifacts; errors come first. Reads
 * every artifact there is, so only for what nothing else explains.
 */
export async function findInProject(
  artifacts: Pick<
    ArtifactManager,
    "getAllFullyQualifiedNames" | "readArtifact"
  >,
  selector: string,
): Promise<readonly ProjectFragment[]> {
  const found = new Map<
    string,
    { fragment: ProjectFragment["fragment"]; definedIn: string[] }
  >();
  const names = [...(await artifacts.getAllFullyQualifiedNames())].toSorted();
  for (const name of names) {
    const { abi } = await artifacts.readArtifact(name);
    const entries: readonly unknown[] = abi;
    for (const entry of entries) {
      const fragment = toFragment(entry);
      if (fragment?.selector === selector) {
        const key = fragment.format("full");
        const known = found.get(key) ?? { fragment, definedIn: [] };
        known.definedIn.push(name);
        found.set(key, known);
      }
    }
  }
  return [...found.values()].toSorted(
    ({ fragment: one }, { fragment: other }) =>
      Number(one.type === "function") - Number(other.type === "function"),
  );
}

/** The errors among them. */
export async function findErrorsInProject(
  artifacts: Parameters<typeof findInProject>[0],
  selector: string,
): Promise<readonly ErrorFragment[]> {
  return (await findInProject(artifacts, selector)).flatMap(({ fragment }) =>
    fragment instanceof ErrorFragment ? [fragment] : [],
  );
}

function toFragment(
  entry: unknown,
): ErrorFragment | FunctionFragment | undefined {
  try {
    const fragment = Fragment.from(entry);
    return fragment instanceof ErrorFragment ||
      fragment instanceof FunctionFragment
      ? fragment
      : undefined;
  } catch {
    // An artifact of another tool, with types that ethers does not know.
    return undefined;
  }
}
