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

/** What was expected and what there was, as far as they can be compared. */
export interface Difference {
  readonly expected?: unknown;
  readonly actual?: unknown;
}

/** The result of a check; a failure is the message of an `AssertionError`. */
export interface Verdict extends Difference {
  readonly failure?: string | undefined;
  /** The failure of the opposite assertion. */
  readonly negatedFailure?: string | undefined;
}

/** Fails an assertion and its opposite alike: a failure is no answer. */
export class NoVerdict extends Error {}

export function requireVault(value: unknown): ReadableVault {
  if (
    typeof value === "object" &&
    value !== null &&
    "getLatestRoundInfo" in value &&
    "snapshot" in value &&
    "contracts" in value
  ) {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- nothing else has all three
    return value as ReadableVault;
  }
  throw new NoVerdict(
    `a vault is needed (connection.vault, hre.vault or mocks.vault), got ${inspect(value)}`,
  );
}

/** Reads an expected integer, unscaled. */
export function parseInteger(value: unknown, where: string): bigint {
  try {
    return parseUint256(value, where);
  } catch (error) {
    throw new NoVerdict(error instanceof Error ? error.message : String(error));
  }
}

/** Throws what checks find, as errors of an assertion library. */
export class Assertion {
  /**
   * The stack from the line of the test that called the assertion. Once
   * something asynchronous has run, that line is on no stack.
   */
  readonly #callSite: string;

  /** @param called The function that the test called. */
  public constructor(
    called: unknown,
    private readonly createError: (
      message: string,
      difference?: Difference,
    ) => Error,
    public readonly negated = false,
  ) {
    this.#callSite = framesAbove(called);
  }

  public fail(message: string, difference?: Difference): never {
    const error = this.createError(message, difference);
    error.stack = `${error.name}: ${error.message}${this.#callSite}`;
    throw error;
  }

  /** @param subject If it is a promise, it may be rejected unawaited. */
  public async check<Found extends Verdict>(
    find: () => Promise<Found>,
    subject?: unknown,
  ): Promise<Found> {
    if (subject instanceof Promise) {
      subject.catch(() => undefined);
    }
    const found = await find().catch((error: unknown) => {
      if (error instanceof NoVerdict) {
        this.fail(error.message);
      }
      throw error;
    });
    const message = this.negated ? found.negatedFailure : found.failure;
    if (message !== undefined) {
      this.fail(message, this.negated ? undefined : found);
    }
    return found;
  }
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
