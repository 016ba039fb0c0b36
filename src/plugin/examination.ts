import { VaultError } from "../errors.js";
import { escapeUntrusted } from "../untrusted-text.js";

/** What one look at a network or a contract found. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  /** What was found. */
  readonly detail: string;
  /** What to do about it; null where there is nothing to do. */
  readonly fix: string | null;
}

export function ok(name: string, detail: string): Check {
  return { name, status: "ok", detail, fix: null };
}

export function warn(name: string, detail: string, fix: string): Check {
  return { name, status: "warn", detail, fix };
}

export function fail(name: string, detail: string, fix: string): Check {
  return { name, status: "fail", detail, fix };
}

/** The check of what could not be looked at. */
export function failed(
  name: string,
  error: unknown,
  status: "warn" | "fail" = "fail",
): Check {
  if (!VaultError.isVaultError(error)) {
    throw error;
  }
  return {
    name,
    status,
    detail: error.shortMessage,
    fix: error.fix,
  };
}

/** Words of a node, in one short line. */
export function quote(text: string): string {
  return escapeUntrusted(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
