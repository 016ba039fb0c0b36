import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { Redactor } from "../redact.js";
import { isHardhatError, messageOf, pluginOf } from "./thrown.js";
import type { ErrorLink, Thrown } from "./thrown.js";

/** Hardhat's errors about the connection or a setting. */
const ofConnection = /^HHE(?:7|28|29|30|70[2348]|717)$/u;

/**
 * Codes of connections: those of Node.js, of undici, and of libraries such as ethers for
 * what a node answered. Any other text as a code is of another library.
 */
const codeOfConnection =
  /^(?:E[A-Z]{2,}|UND_ERR_\w+|ERR_(?:HTTP|PROXY|SOCKET|SSL|STREAM|TLS)\w*|\w*CERT\w*|UNABLE_TO_\w+|CALL_EXCEPTION|(?:NETWORK|SERVER)_ERROR|TIMEOUT)$/u;

/** Sites whose addresses in an error are for the reader, and no node's. */
const links = /^https:\/\/(?:hardhat\.org|github\.com|nodejs\.org)\//u;

/**
 * True for a failure of Hardhat or of a plugin, before a node has answered.
 *
 * @param isBehindHardhat True if Hardhat gives each error of a node or a connection a code
 * or a mark: an error without one is then of this process, too.
 */
export function isOfThisProcess(
  { said, links: errors }: Pick<Thrown, "said" | "links">,
  isBehindHardhat: boolean,
): boolean {
  const [thrown] = errors;
  return (
    thrown !== undefined &&
    thrown === said &&
    (isMarked(thrown) || (isBehindHardhat && errors.every(isUncoded)))
  );
}

/** True for an error that Hardhat or a plugin has marked as its own. */
export function isMarked(error: unknown): boolean {
  return (
    pluginOf(asRecord(error)) !== undefined ||
    (isHardhatError(asRecord(error)) &&
      !ofConnection.test(String(asRecord(error)["errorCode"])))
  );
}

function isUncoded(error: ErrorLink): boolean {
  const { errorCode, code, statusCode, name } = error;
  return (
    (errorCode === undefined || isMarked(error)) &&
    (code === undefined || isCodeOfThisProcess(error)) &&
    statusCode === undefined &&
    !Object.hasOwn(error, "_isProviderError") &&
    name !== "TimeoutError"
  );
}

/** Also true for a failed access to a file: a connection has no path. */
function isCodeOfThisProcess({ code, syscall, path }: ErrorLink): boolean {
  return (
    typeof code === "string" &&
    (!codeOfConnection.test(code) ||
      (typeof syscall === "string" && typeof path === "string"))
  );
}

export function toHardhatError(error: unknown, redactor: Redactor): VaultError {
  const { name, errorCode } = asRecord(error);
  const plugin = pluginOf(asRecord(error));
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
  const problem = redactor.quote(`${kind}${messageOf(error)}`, links);
  return vaultError("VAULT_HARDHAT_ERROR", { source, problem }, error);
}
