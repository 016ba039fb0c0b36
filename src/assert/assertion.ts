import { parseUint256 } from "../client/inputs.js";
import type { ReadOptions } from "../client/reader.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import type { VaultContracts } from "../client/vault-client.js";
import type { VaultRound } from "../protocol/index.js";

/**
 * What the matchers need of a vault. `connection.vault`, `hre.vault`, the
 * `vault` of mocks and a `VaultClient` all have it.
 */
export interface ReadableVault {
  getLatestRoundInfo(options?: ReadOptions): Promise<VaultRound>;
  snapshot(options?: ReadOptions): Promise<VaultSnapshot>;
  /** Its provider also knows the transactions. */
  readonly contracts: VaultContracts | Promise<VaultContracts>;
}

function isReadableVault(value: unknown): value is ReadableVault {
  return (
    typeof value === "object" &&
    value !== null &&
    "getLatestRoundInfo" in value &&
    "snapshot" in value &&
    "contracts" in value
  );
}

/** What was expected and what there was, as far as they can be compared. */
export interface Difference {
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * How an assertion ends, by whichever library it is made: what is asserted says
 * what it found, and this what becomes of it.
 */
export abstract class Assertion {
  /** What is asserted of. */
  public abstract readonly subject: unknown;
  /** Whether the opposite is asserted. */
  public abstract readonly negated: boolean;
  /** Ends the assertion, whether or not it is negated. */
  public abstract fail(message: string, difference?: Difference): never;
  /** A value for a failure message. */
  public abstract inspect(value: unknown): string;

  /** Checks a condition by the assertion's polarity. */
  public check(
    condition: boolean,
    message: () => string,
    negatedMessage: () => string,
    difference?: () => Difference,
  ): void {
    if (condition === this.negated) {
      this.fail(
        this.negated ? negatedMessage() : message(),
        this.negated ? undefined : difference?.(),
      );
    }
  }

  /** Reads what a test expects, and fails where that is nothing to expect. */
  public parse<Expected>(read: () => Expected, problem = ""): Expected {
    try {
      return read();
    } catch (error) {
      return this.fail(
        `${problem}${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  /** An integer to expect, unscaled. */
  public parseInteger(value: unknown, where: string): bigint {
    return this.parse(() => parseUint256(value, where));
  }

  public requireVault(value: unknown, where: string): ReadableVault {
    return isReadableVault(value)
      ? value
      : this.fail(
          `${where} must be a vault (connection.vault, hre.vault or mocks.vault), got ${this.inspect(value)}`,
        );
  }
}

/**
 * The stack from the line of the test that called an assertion. Taken when it is
 * called: once something asynchronous has run, that line is on no stack.
 *
 * @param called The function that the test called.
 */
export function framesAbove(called: unknown): string {
  const site: { stack?: unknown } = {};
  Error.captureStackTrace(
    site,
    typeof called === "function" ? called : framesAbove,
  );
  const stack = typeof site.stack === "string" ? site.stack : "";
  return stack.slice(stack.indexOf("\n"));
}
