import { VaultError } from "../../errors.js";
import type { EngineUnable } from "../question.js";

/** How nodes say that they have no such method, or do not let it be used. */
const missingMethod =
  /(?:method|eth_\w+).*(?:not (?:found|supported|available|allowed|exist|implemented)|does(?: not|n't) exist|unsupported|disabled)|(?:unknown|unsupported) method/iu;

/**
 * What a failed request means to an engine: another one may do, unless the node
 * is silent or the configuration is wrong.
 *
 * @param unable Is told whether the node has no such method at all.
 */
export function toUnable(
  error: unknown,
  method: string,
  unable: (problem: string, isMissing: boolean) => EngineUnable,
): unknown {
  if (!VaultError.isVaultError(error)) {
    return error;
  }
  const problem = String(error.details["problem"]);
  switch (error.code) {
    case "VAULT_RPC_ERROR":
      return unable(
        `the node refuses ${method}: ${problem}`,
        missingMethod.test(problem),
      );
    // An HTTP status, or a closed connection, as a proxy refuses.
    case "VAULT_NETWORK_UNREACHABLE":
    case "VAULT_RPC_INVALID_RESPONSE":
      return unable(`${method} fails: ${problem}`, false);
    default:
      return error;
  }
}
