import { VaultError, textsForCommandLine } from "../errors.js";

export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  /** Says what to do; null if there is nothing to do. */
  readonly fix: string | null;
}

export type Finding = Omit<Check, "name">;

export function ok(detail: string): Finding {
  return { status: "ok", detail, fix: null };
}

export function warn(detail: string, fix: string): Finding {
  return { status: "warn", detail, fix };
}

export function fail(detail: string, fix: string): Finding {
  return { status: "fail", detail, fix };
}

/** That a thing cannot be looked at is a finding, too. */
export async function check(
  name: string,
  look: () => Finding | Promise<Finding>,
  ifFailed: "warn" | "fail" = "fail",
): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return failed(name, error, ifFailed);
  }
}

export function failed(
  name: string,
  error: unknown,
  status: "warn" | "fail" = "fail",
): Check {
  return { name, ...findingOf(error, status) };
}

/** @throws the error if it is not one of this package */
export function findingOf(
  error: unknown,
  status: "warn" | "fail" = "fail",
): Finding {
  if (!VaultError.isVaultError(error)) {
    throw error;
  }
  const { shortMessage: detail, fix } = textsForCommandLine(error);
  return { status, detail, fix };
}
