import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { quoteForeignText } from "../redact.js";
import type { Redactor } from "../redact.js";

/** An error, or an object that one wraps; nothing of it is checked. */
export type Link = Readonly<Record<string, unknown>>;

/** Hardhat's errors for a configuration variable: not found, not a URL, not an integer, not hex. */
export const variableCodes = /^HHE(?:7|28|29|30)$/u;

/**
 * The error of a configuration variable without a usable value. Hardhat's text names
 * the variable, not its value.
 */
export function toConfigVariableError(
  error: unknown,
  where: string,
): VaultError {
  const { errorCode, messageArguments } = asRecord(error);
  const { name } = asRecord(messageArguments);
  const problem =
    errorCode === "HHE7" && typeof name === "string"
      ? `the configuration variable ${quoteForeignText(name)} is missing from the environment of this process, and no keystore has it. A scheduler such as cron has an environment of its own.`
      : quoteForeignText(messageOf(error));
  return vaultError("VAULT_CONFIG_VARIABLE", { where, problem }, error);
}

export function toHardhatError(error: unknown, redactor: Redactor): VaultError {
  const source = ownerOf(error) ?? "Hardhat or one of its plugins";
  const problem = redactor.quote(messageOf(error));
  return vaultError("VAULT_HARDHAT_ERROR", { source, problem }, error);
}

/** True for an error of Hardhat or a plugin about neither a connection nor a variable. */
export function isMarked(error: unknown): boolean {
  const code = hardhatCodeOf(asRecord(error)) ?? "";
  return (
    ownerOf(error) !== undefined &&
    !variableCodes.test(code) &&
    !/^HHE70[2348]$/u.test(code)
  );
}

export function hardhatCodeOf(link: Link): string | undefined {
  return ownerOf(link) === "Hardhat" ? String(link["errorCode"]) : undefined;
}

/**
 * Hardhat or the plugin that marked an error as its own. A provider may copy a node's JSON
 * into its error, but never such a mark.
 */
function ownerOf(error: unknown): string | undefined {
  const link = asRecord(error);
  const hasMark = (name: string): boolean =>
    Object.getOwnPropertyDescriptor(link, name)?.enumerable === false;
  return hasMark("_isHardhatError")
    ? "Hardhat"
    : hasMark("_isHardhatPluginError")
      ? `The plugin ${String(link["pluginId"])}`
      : undefined;
}

export function messageOf(error: unknown): string {
  const { message } = asRecord(error);
  const text = typeof message === "string" ? message : error;
  return typeof text === "string" && text !== "" ? text : "it gave no reason";
}
