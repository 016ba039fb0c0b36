import { VaultError, textsForCommandLine } from "../errors.js";

export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  /** The remedy; null if there is nothing to do. */
  readonly fix: string | null;
  /** Of the check of that name: wei that the account has. */
  readonly balance?: bigint;
  /** Of the check `balance`: wei that a settlement may cost. */
  readonly maxCost?: bigint;
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

/** @throws the error if it is not one of this package */
export function findingOf(
  error: unknown,
  status: Check["status"] = "fail",
): Finding {
  if (!VaultError.isVaultError(error)) {
    throw error;
  }
  const { shortMessage: detail, fix } = textsForCommandLine(error);
  return { status, detail, fix };
}

export function failed(name: string, error: unknown): Check {
  return { name, ...findingOf(error) };
}

/** An examination that fails is a warning. */
export async function check(
  name: string,
  examination: Promise<Finding>,
): Promise<Check> {
  return await examination.then(
    (finding) => ({ name, ...finding }),
    (error: unknown) => ({ name, ...findingOf(error, "warn") }),
  );
}
