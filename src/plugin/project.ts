import { ErrorFragment } from "ethers";
import type { ArtifactManager } from "hardhat/types/artifacts";
import type { NetworkConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { indexErrors } from "../rpc/revert-reason.js";
import type { ErrorAbisOf } from "../rpc/revert-reason.js";
import { asRecord } from "../json.js";
import { Redactor } from "../foreign-text.js";

type Project = Pick<HardhatRuntimeEnvironment, "config" | "userConfig">;

/**
 * Creates the redactor of a connection: it hides the secrets in the text of the
 * configuration, and URL and headers of the network's node, or of a fork's upstream.
 * Resolves the URL.
 */
export async function redactorFor(
  project: Project,
  network: NetworkConfig,
): Promise<Redactor> {
  const redactor = projectRedactor(project);
  const node =
    network.type === "http"
      ? network
      : network.forking?.enabled === true
        ? network.forking
        : undefined;
  keepNode(redactor, { ...node, url: await node?.url.getUrl() });
  return redactor;
}

/** Creates a redactor of the secrets in the text of the configuration. */
export function projectRedactor({ config, userConfig }: Project): Redactor {
  const redactor = new Redactor(Object.keys(config.networks));
  for (const network of Object.values(userConfig.networks ?? {})) {
    const { accounts } = network;
    for (const account of Array.isArray(accounts) ? accounts : [accounts]) {
      const { privateKey, mnemonic, passphrase } = asRecord(account);
      for (const key of [account, privateKey].filter(isText)) {
        redactor.keepKey(key);
      }
      redactor.keep(...[mnemonic, passphrase].filter(isText));
    }
    keepNode(redactor, network);
    keepNode(redactor, asRecord(network)["forking"]);
  }
  return redactor;
}

function keepNode(redactor: Redactor, node: unknown): void {
  const { url, httpHeaders } = asRecord(node);
  if (isText(url)) {
    redactor.keepUrl(url);
  }
  for (const value of Object.values(asRecord(httpHeaders)).filter(isText)) {
    redactor.keepHeader(value);
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "remote";
}

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
    for (const name of await artifacts.getAllFullyQualifiedNames()) {
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
