import { isReadableVault } from "./readable-vault.js";
import type { ReadableVault } from "./readable-vault.js";

/** The flag by which hardhat-ethers-chai-matchers knows an earlier matcher. */
const PREVIOUS_MATCHER = "previousMatcherName";

/**
 * What a matcher knows of the assertion that it stands in.
 *
 * It is made before anything asynchronous runs: a later `.not` in the same
 * chain changes the flags of the same object.
 */
export class MatcherContext {
  public readonly subject: unknown;
  public readonly negated: boolean;
  readonly #assertion: object;
  readonly #chai: Chai.ChaiStatic;
  readonly #utils: Chai.ChaiUtils;
  readonly #callSite: string;
  readonly #prefix: string;

  constructor(assertion: object, chai: Chai.ChaiStatic, utils: Chai.ChaiUtils) {
    this.#assertion = assertion;
    this.#chai = chai;
    this.#utils = utils;
    this.#callSite = framesAbove(this.flag("ssfi"));
    this.subject = this.flag("object");
    this.negated = this.flag("negate") === true;
    const message = this.flag("message");
    this.#prefix = typeof message === "string" ? `${message}: ` : "";
  }

  /** Ends the assertion, whether or not it is negated. */
  public fail(message: string): never {
    const error = new this.#chai.AssertionError(`${this.#prefix}${message}`);
    error.stack = `${error.name}: ${error.message}${this.#callSite}`;
    throw error;
  }

  /** Judges a condition by the assertion's polarity. */
  public check(
    condition: boolean,
    message: () => string,
    negatedMessage: () => string,
  ): void {
    if (condition === this.negated) {
      this.fail(this.negated ? negatedMessage() : message());
    }
  }

  public flag(name: string): unknown {
    // Flags are typed any.
    const value: unknown = this.#utils.flag(this.#assertion, name);
    return value;
  }

  public setFlag(name: string, value: unknown): void {
    this.#utils.flag(this.#assertion, name, value);
  }

  /** @see VaultAssertion */
  public requireVault(value: unknown, where: string): ReadableVault {
    return isReadableVault(value)
      ? value
      : this.fail(
          `${where} must be a vault (connection.vault, hre.vault or mocks.vault), got ${this.inspect(value)}`,
        );
  }

  /** Refuses a second asynchronous matcher: whose subject would it have? */
  public preventChaining(matcher: string): void {
    const previous = this.flag(PREVIOUS_MATCHER);
    if (typeof previous === "string") {
      this.fail(
        `${matcher} cannot be chained after ${previous}: write a second expect()`,
      );
    }
    this.setFlag(PREVIOUS_MATCHER, matcher);
  }

  /** Makes the assertion something to await. */
  public settleWith(outcome: Promise<void>): object {
    return Object.assign(this.#assertion, {
      then: outcome.then.bind(outcome),
      catch: outcome.catch.bind(outcome),
      finally: outcome.finally.bind(outcome),
    });
  }

  /** A value for a failure message. */
  public inspect(value: unknown): string {
    return this.#utils.inspect(value);
  }
}

/**
 * The stack from the line of the test that called a matcher. Taken when it is
 * called: once something asynchronous has run, that line is on no stack.
 *
 * @param matcher The function that Chai made of the matcher.
 */
function framesAbove(matcher: unknown): string {
  const site: { stack?: unknown } = {};
  Error.captureStackTrace(
    site,
    typeof matcher === "function" ? matcher : framesAbove,
  );
  const stack = typeof site.stack === "string" ? site.stack : "";
  return stack.slice(stack.indexOf("\n"));
}
