import { VaultError, vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { Redactor } from "../redact.js";
import { messageOf } from "./thrown.js";

/** Hardhat's errors about the connection or a setting; `toRpcError` converts these. */
const ofConnection = /^HHE(?:7|28|29|30|70[2348]|717)$/u;

/**
 * Codes of connections: those of Node.js, of undici, and of libraries such as ethers for
 * what a node answered. Any other text as a code is of another library.
 */
const codeOfConnection =
  /^(?:E[A-Z]{2,}|UND_ERR_\w+|ERR_(?:HTTP|PROXY|SOCKET|SSL|STREAM|TLS)\w*|\w*CERT\w*|UNABLE_TO_\w+|CALL_EXCEPTION|(?:NETWORK|SERVER)_ERROR|TIMEOUT)$/u;

/**
 * True for an error that Hardhat or another plugin throws by itself, in a hook for
 * example. An error of the node, or of the connection to it, left through the provider,
 * which gives it a code or a mark.
 */
export function isHardhatsOwn(error: unknown): boolean {
  const { errorCode, code, statusCode, cause } = asRecord(error);
  if (VaultError.isVaultError(error) || !(error instanceof Error)) {
    return false;
  }
  if (pluginOf(error) !== undefined) {
    return true;
  }
  if (typeof errorCode === "string") {
    return errorCode.startsWith("HHE") && !ofConnection.test(errorCode);
  }
  return (
    (code === undefined || isOfThisProcess(error)) &&
    statusCode === undefined &&
    !Object.hasOwn(error, "_isProviderError") &&
    error.name !== "TimeoutError" &&
    (cause === undefined || isHardhatsOwn(cause))
  );
}

/** Also true for a failed access to a file: a connection has no path. */
function isOfThisProcess(error: Error): boolean {
  const { code, syscall, path } = asRecord(error);
  return (
    typeof code === "string" &&
    (!codeOfConnection.test(code) ||
      (typeof syscall === "string" && typeof path === "string"))
  );
}

export function toHardhatError(error: unknown, redactor: Redactor): VaultError {
  const { name, errorCode } = asRecord(error);
  const plugin = pluginOf(error);
  const message = messageOf(error);
  const source =
    plugin !== undefined
      ? `The plugin ${plugin}`
      : typeof errorCode === "string"
        ? "Hardhat"
        : "Hardhat or one of its plugins";
  // The name of a built-in error explains more than its message.
  const kind =
    typeof name === "string" &&
    /^(?:Syntax|Type|Reference|Range)Error$/u.test(name)
      ? `${name}: `
      : "";
  const problem = redactor.quote(`${kind}${message}`);
  return vaultError("VAULT_HARDHAT_ERROR", { source, problem }, error);
}

/** @returns The id of the plugin whose error this is. */
function pluginOf(error: unknown): string | undefined {
  const { _isHardhatPluginError: isOfPlugin, pluginId } = asRecord(error);
  return isOfPlugin === true && typeof pluginId === "string"
    ? pluginId
    : undefined;
}
