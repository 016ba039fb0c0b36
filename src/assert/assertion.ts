import { inspect } from "node:util";

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
 * An assertion of whichever library: the checks find what there is, and this
 * makes it pass or fail.
 */
export abstract class Assertion {
  /**
   * The stack from the line of the test that called the assertion. Once
   * something asynchronous has run, that line is on no stack.
   */
  readonly #callSite: string;

  /**
   * @param subject What is asserted of.
   * @param called The function that the test called.
   * @param negated Whether the opposite is asserted.
   */
  protected constructor(
    public readonly subject: unknown,
    called: unknown,
    public readonly negated: boolean,
  ) {
    this.#callSite = framesAbove(called);
    // It may be rejected before it is waited for, or never be waited for.
    if (subject instanceof Promise) {
      subject.catch(() => undefined);
    }
  }

  /** Ends the assertion, whether or not it is negated. */
  public fail(message: string, difference?: Difference): never {
    const error = this.createError(message, difference);
    error.stack = `${error.name}: ${error.message}${this.#callSite}`;
    throw error;
  }

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
  public parse<Expected>(read: () => Expected): Expected {
    try {
      return read();
    } catch (error) {
      return this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  /** An integer to expect, unscaled. */
  public parseInteger(value: unknown, where: string): bigint {
    return this.parse(() => parseUint256(value, where));
  }

  public requireVault(value: unknown): ReadableVault {
    return isReadableVault(value)
      ? value
      : this.fail(
          `a vault is needed (connection.vault, hre.vault or mocks.vault), got ${inspect(value)}`,
        );
  }

  protected abstract createError(
    message: string,
    difference?: Difference,
  ): Error;
}

function framesAbove(called: unknown): string {
  const site: { stack?: unknown } = {};
  Error.captureStackTrace(
    site,
    typeof called === "function" ? called : framesAbove,
  );
  const stack = typeof site.stack === "string" ? site.stack : "";
  return stack.slice(stack.indexOf("\n"));
}
