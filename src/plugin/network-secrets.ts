import type { HardhatUserConfig, NetworkConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { asRecord } from "../json.js";
import { Redactor } from "../redact.js";

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
  if (node !== undefined) {
    redactor.keepUrl(await node.url.getUrl(), publicNames(project));
    for (const value of Object.values(node.httpHeaders ?? {})) {
      redactor.keepHeader(value);
    }
  }
  return redactor;
}

/** Creates a redactor of the secrets in the text of the configuration. */
export function projectRedactor(project: Project): Redactor {
  const redactor = new Redactor();
  const { networks = {} }: HardhatUserConfig = project.userConfig;
  for (const network of Object.values(networks)) {
    const { accounts } = network;
    for (const account of Array.isArray(accounts) ? accounts : [accounts]) {
      const { privateKey, mnemonic, passphrase } = asRecord(account);
      for (const key of [account, privateKey].filter(isText)) {
        redactor.keepKey(key);
      }
      redactor.keep(...[mnemonic, passphrase].filter(isText));
    }
    for (const node of [network, asRecord(network)["forking"]]) {
      const { url, httpHeaders } = asRecord(node);
      if (isText(url)) {
        redactor.keepUrl(url, publicNames(project));
      }
      for (const value of Object.values(asRecord(httpHeaders)).filter(isText)) {
        redactor.keepHeader(value);
      }
    }
  }
  return redactor;
}

/** Words that are no secrets, even in a URL. */
function publicNames({ config }: Project): readonly string[] {
  return Object.keys(config.networks);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "remote";
}
